//! The text that a DSSE envelope's signature is made over.

/// The pre-authentication encoding, `DSSEv1 <length> <type> <length> <payload>`: DSSE 1.0,
/// "protocol.md".
pub(crate) fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
