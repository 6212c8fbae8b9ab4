//! Event files of TensorBoard: scalars over steps.
//!
//! A file is a sequence of records: the length, the checksum of the length, the content and the checksum of
//! the content. A checksum is a masked CRC-32C (`record_writer.cc` of TensorFlow); the content is a message
//! `Event` (`event.proto`). The messages are declared by hand, as in `onnx/proto.rs`: the crate `tensorboard-rs`
//! writes files itself, and so cannot write into a store.

use prost::Message;

/// A value at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// The name of the curve; slashes group curves.
    pub tag: String,
    /// The step.
    pub step: i64,
    /// The time in seconds, since 1970 or another origin.
    pub seconds: f64,
    /// The value.
    pub value: f32,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// Returns the content of an event file.
pub fn events(scalars: &[Scalar]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let version = Some("brain.Event:2".to_owned());
    write_record(&mut bytes, &Event { file_version: version, ..Event::default() });
    for Scalar { tag, step, seconds, value } in scalars {
        let value = vec![Value { tag: tag.clone(), simple_value: Some(*value) }];
        let summary = Some(Summary { value });
        write_record(
            &mut bytes,
            &Event { wall_time: *seconds, step: *step, file_version: None, summary },
        );
    }
    bytes
}

fn write_record(bytes: &mut Vec<u8>, event: &Event) {
    let content = event.encode_to_vec();
    let length = (content.len() as u64).to_le_bytes();
    for part in [&length[..], &content] {
        bytes.extend_from_slice(part);
        let sum = crc32c::crc32c(part);
        bytes.extend_from_slice(&sum.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first record is that of a file of TensorFlow, except for its time.
    #[test]
    fn first_record_is_that_of_tensorflow() {
        let bytes = events(&[]);
        let expected = b"\x0f\0\0\0\0\0\0\0";
        assert_eq!(&bytes[..8], expected);
        assert_eq!(&bytes[12..27], b"\x1a\x0dbrain.Event:2");
        assert_eq!(bytes.len(), 31);
        // The check value of CRC-32C.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn events_hold_scalars() {
        let scalar = Scalar { tag: "loss/policy".to_owned(), step: 7, seconds: 3.5, value: 0.25 };
        let bytes = events(std::slice::from_ref(&scalar));
        let mut rest = &bytes[31..];
        let (length, after) = rest.split_first_chunk::<8>().expect("a length");
        rest = &after[4..];
        let content = &rest[..u64::from_le_bytes(*length) as usize];
        assert_eq!(rest.len(), content.len() + 4);
        let event = Event::decode(content).expect("an event");
        let value = &event.summary.expect("a summary").value[0];
        assert_eq!((event.step, event.wall_time), (7, 3.5));
        assert_eq!((value.tag.as_str(), value.simple_value), ("loss/policy", Some(0.25)));
    }
}
