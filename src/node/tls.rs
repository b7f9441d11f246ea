//! The certificate of a node.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::remote::RemoteError;

/// Reads a certificate with those above it, and its private key, both as PEM.
///
/// # Errors
/// `remote.listen`
pub(crate) fn tls_config(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, RemoteError> {
    let wrong = |path: &Path, why: &dyn std::fmt::Display| RemoteError::Listen {
        at: path.display().to_string(),
        why: why.to_string(),
        help: "name a PEM file with `--tls-cert`, and its key with `--tls-key`",
    };
    let chain = CertificateDer::pem_file_iter(cert).map_err(|error| wrong(cert, &error))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|error| wrong(cert, &error))?;
    let pair = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(cert, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, pair)
        .map_err(|error| wrong(cert, &error))?;
    Ok(Arc::new(config))
}
