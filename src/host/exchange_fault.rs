//! Why there was no answer, in words that hold no header, no body and no query.

use std::io;
use std::time::Instant;

use rustls::CertificateError;
use ureq::Timeout;

use super::net::{HttpCall, NetFault};
use crate::base::time::time_text;

/// The fault for an error of the library. If a proxy is on the way, it is the proxy that was not
/// reached.
pub(super) fn fault(error: ureq::Error, call: &HttpCall) -> NetFault {
    let fault = of_error(error, call);
    match (fault, call.way.proxy_for(&call.url)) {
        (NetFault::Unreachable(why), Some(proxy)) => {
            NetFault::Proxy(format!("the proxy `{proxy}` cannot be reached: {why}"))
        }
        (fault, _) => fault,
    }
}

fn of_error(error: ureq::Error, call: &HttpCall) -> NetFault {
    match error {
        ureq::Error::Timeout(_) if Instant::now() >= call.until => NetFault::TimedOut,
        ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            let limit = time_text(call.connect_timeout);
            NetFault::Unreachable(format!("no connection came about within {limit}"))
        }
        ureq::Error::Timeout(_) => NetFault::TimedOut,
        ureq::Error::Rustls(error) => tls(&error),
        ureq::Error::Tls(why) => NetFault::Tls(why.into()),
        ureq::Error::Io(error) => of_io(&error),
        ureq::Error::HostNotFound => NetFault::Unreachable("its name leads to no address".into()),
        ureq::Error::ConnectionFailed => NetFault::Unreachable("no connection came about".into()),
        ureq::Error::ConnectProxyFailed(why) => {
            NetFault::Proxy(format!("the proxy refused the connection: {why}"))
        }
        ureq::Error::LargeResponseHeader(..) => {
            NetFault::Broken("the headers of the answer are too large".into())
        }
        other => NetFault::Broken(other.to_string()),
    }
}

fn of_io(error: &io::Error) -> NetFault {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return tls(error);
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => NetFault::Unreachable("nobody listens there".into()),
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::AddrNotAvailable => NetFault::Unreachable(error.to_string()),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            NetFault::Broken("the server closed the connection before the answer was whole".into())
        }
        // The system's resolver has no kind of its own.
        _ if error.to_string().starts_with("failed to lookup") => {
            NetFault::Unreachable("its name leads to no address".into())
        }
        _ => NetFault::Broken(error.to_string()),
    }
}

fn tls(error: &rustls::Error) -> NetFault {
    use CertificateError as Bad;
    NetFault::Tls(match error {
        // The second is a stranger under the name of an issuer that is trusted.
        rustls::Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            "its certificate is from an issuer that this machine does not trust".into()
        }
        rustls::Error::InvalidCertificate(
            Bad::NotValidForName | Bad::NotValidForNameContext { .. },
        ) => "its certificate is for another name".into(),
        rustls::Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "its certificate has expired".into()
        }
        other => other.to_string(),
    })
}
