//! Models of any bytes with a valid checksum.

use menagerie::nn::network::sparse::SparseRequest;
use menagerie::nn::network::{Backend, Network, append_checksum};

/// Opens the model, and if it is a sparse network evaluates positions, valid and invalid ones. Without an
/// ONNX Runtime only the checks before it run: `ORT_DYLIB_PATH` selects one.
pub fn model(data: &[u8]) {
    let Ok(Network::Sparse(mut session)) = Network::open(&append_checksum(data.to_vec()), Backend::Cpu, 1)
    else {
        return;
    };
    if session.rows_per_move() > 64 || session.outcomes() > 64 {
        return;
    }
    for number in [0, 1, 5, 6, u16::MAX] {
        let rows = vec![number; 3 * session.rows_per_move()];
        let request = SparseRequest {
            positions: 2,
            inputs: &[number, 0, 1, number],
            move_rows: &rows,
            owners: &[0, 1, number.min(1)],
        };
        let mut outcome = vec![0.0; 2 * session.outcomes()];
        let result = session.run(request, &mut [0.0; 3], &mut outcome, &mut [0.0; 2]);
        if let Err(error) = result {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
