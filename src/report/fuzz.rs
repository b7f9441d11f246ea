//! Fuzz target for receipts.

use super::Receipt;
use crate::base::fuzz::is_message;

/// A receipt that is read has one text, the one that it was read from.
pub(crate) fn receipt(data: &[u8]) {
    match Receipt::read(data) {
        Ok(receipt) => {
            assert_eq!(receipt.to_payload().ok().as_deref(), Some(data));
            assert!(receipt.item().parse::<crate::id::Ref>().is_ok());
        }
        Err(error) => is_message(&error.to_string()),
    }
}
