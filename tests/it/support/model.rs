//! Small ONNX models, written byte by byte, and their expected outputs.

/// Returns a protobuf field of bytes.
fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    let mut out = varint(field << 3 | 2);
    out.extend(varint(content.len() as u64));
    out.extend(content);
    out
}

/// Returns a protobuf field of a number.
fn int(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// Element types of ONNX.
pub(crate) const FLOAT: u64 = 1;
pub(crate) const DOUBLE: u64 = 11;

/// A model under construction. A negative dimension is an open batch.
#[derive(Default)]
pub(crate) struct Model {
    nodes: Vec<u8>,
    weights: Vec<u8>,
    inputs: Vec<u8>,
    outputs: Vec<u8>,
    metadata: Vec<u8>,
}

impl Model {
    pub(crate) fn input(mut self, name: &str, kind: u64, dimensions: &[i64]) -> Self {
        self.inputs.extend(bytes(11, &outlet(name, kind, dimensions)));
        self
    }

    pub(crate) fn output(mut self, name: &str, kind: u64, dimensions: &[i64]) -> Self {
        self.outputs.extend(bytes(12, &outlet(name, kind, dimensions)));
        self
    }

    pub(crate) fn metadata(mut self, key: &str, value: &str) -> Self {
        let entry = [bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat();
        self.metadata.extend(bytes(14, &entry));
        self
    }

    /// Adds a node. An attribute is a list of integers or, if it has one element, an integer.
    pub(crate) fn node(
        mut self,
        kind: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, &[u64])],
    ) -> Self {
        let mut node = Vec::new();
        for input in inputs {
            node.extend(bytes(1, input.as_bytes()));
        }
        node.extend(bytes(2, output.as_bytes()));
        node.extend(bytes(4, kind.as_bytes()));
        for (name, values) in attributes {
            let mut attribute = bytes(1, name.as_bytes());
            if let [value] = values {
                attribute.extend([int(3, *value), int(20, 2)].concat());
            } else {
                for value in *values {
                    attribute.extend(int(8, *value));
                }
                attribute.extend(int(20, 7));
            }
            node.extend(bytes(5, &attribute));
        }
        self.nodes.extend(bytes(1, &node));
        self
    }

    pub(crate) fn weights(mut self, name: &str, dimensions: &[usize], values: &[f32]) -> Self {
        let mut tensor = Vec::new();
        for size in dimensions {
            tensor.extend(int(1, *size as u64));
        }
        tensor.extend(int(2, FLOAT));
        tensor.extend(bytes(8, name.as_bytes()));
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        tensor.extend(bytes(9, &raw));
        self.weights.extend(bytes(5, &tensor));
        self
    }

    /// Returns the file, without a checksum.
    pub(crate) fn finish(self) -> Vec<u8> {
        let name = bytes(2, b"test");
        let graph = [self.nodes, name, self.weights, self.inputs, self.outputs].concat();
        let opset = [bytes(1, b""), int(2, 17)].concat();
        [int(1, 8), bytes(7, &graph), bytes(8, &opset), self.metadata].concat()
    }
}

fn outlet(name: &str, kind: u64, dimensions: &[i64]) -> Vec<u8> {
    let mut shape = Vec::new();
    for &size in dimensions {
        let dimension = if size < 0 { bytes(2, b"batch") } else { int(1, size as u64) };
        shape.extend(bytes(1, &dimension));
    }
    let tensor = [int(1, kind), bytes(2, &shape)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat()
}

pub(crate) const CHANNELS: usize = 3;
pub(crate) const SIDE: usize = 4;
pub(crate) const HIDDEN: usize = 8;
pub(crate) const POLICY: usize = 20;
pub(crate) const OUTCOMES: usize = 3;
/// The number of elements of one position.
pub(crate) const PLANES: usize = CHANNELS * SIDE * SIDE;

/// Returns pseudo-random numbers in [-0.5, 0.5).
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn filters() -> Vec<f32> {
    numbers(1, HIDDEN * CHANNELS * 9)
}

fn head(seed: u64, size: usize) -> Vec<f32> {
    numbers(seed, HIDDEN * SIDE * SIDE * size)
}

/// Returns a network with a 3x3 convolution and three heads. A negative `batch` is open.
pub(crate) fn network(batch: i64) -> Model {
    let flat = HIDDEN * SIDE * SIDE;
    Model::default()
        .input("planes", FLOAT, &[batch, CHANNELS as i64, SIDE as i64, SIDE as i64])
        .weights("filters", &[HIDDEN, CHANNELS, 3, 3], &filters())
        .node("Conv", &["planes", "filters"], "a", &[("pads", &[1, 1, 1, 1])])
        .node("Relu", &["a"], "b", &[])
        .node("Flatten", &["b"], "c", &[])
        .weights("p", &[flat, POLICY], &head(2, POLICY))
        .node("MatMul", &["c", "p"], "policy", &[])
        .output("policy", FLOAT, &[batch, POLICY as i64])
        .weights("o", &[flat, OUTCOMES], &head(3, OUTCOMES))
        .node("MatMul", &["c", "o"], "d", &[])
        .node("Softmax", &["d"], "outcome", &[])
        .output("outcome", FLOAT, &[batch, OUTCOMES as i64])
        .weights("m", &[flat, 1], &head(4, 1))
        .node("MatMul", &["c", "m"], "moves_left", &[])
        .output("moves_left", FLOAT, &[batch, 1])
        .metadata("encoding", "toy 1")
        .metadata("variants", "chess duck")
}

/// Computes the outputs of [`network`] for one position: policy, outcome and moves left.
pub(crate) fn reference(planes: &[f32]) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let filters = filters();
    let mut hidden = Vec::new();
    for filter in filters.chunks_exact(CHANNELS * 9) {
        for square in 0..SIDE * SIDE {
            let (y, x) = (square / SIDE, square % SIDE);
            let mut sum = 0.0;
            for (tap, weight) in filter.iter().enumerate() {
                let (channel, dy, dx) = (tap / 9, tap % 9 / 3, tap % 3);
                let (v, u) = ((y + dy).wrapping_sub(1), (x + dx).wrapping_sub(1));
                if v < SIDE && u < SIDE {
                    sum += weight * planes[(channel * SIDE + v) * SIDE + u];
                }
            }
            hidden.push(sum.max(0.0));
        }
    }
    let multiply = |weights: Vec<f32>, size: usize| -> Vec<f32> {
        let column = |i| hidden.iter().enumerate().map(|(j, h)| h * weights[j * size + i]).sum();
        (0..size).map(column).collect()
    };
    let powers: Vec<f32> = multiply(head(3, OUTCOMES), OUTCOMES).iter().map(|x| x.exp()).collect();
    let sum: f32 = powers.iter().sum();
    let outcome = powers.iter().map(|power| power / sum).collect();
    (multiply(head(2, POLICY), POLICY), outcome, multiply(head(4, 1), 1))
}
