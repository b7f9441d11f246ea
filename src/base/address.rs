//! Where an HTTP request goes: an absolute `http` or `https` URL without anything that hides in
//! one.

use fluent_uri::{Uri, UriRef};

/// Longest URL in bytes: many servers refuse a longer one.
const URL_BYTES: usize = 8 << 10;

/// An absolute `http` or `https` URL.
///
/// Invariant: no user name, no fragment; the host is a plain name or an address; a path is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    text: String,
    is_https: bool,
    host: String,
    port: u16,
}

impl Address {
    /// # Errors
    /// The fault, to stand behind the name of the place.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > URL_BYTES {
            return Err("is too long");
        }
        let uri = Uri::parse(text).map_err(|_| "is not an absolute `http` or `https` URL")?;
        if uri.has_fragment() {
            return Err("has a fragment (`#…`), which is never sent");
        }
        Self::from_uri(&uri)
    }

    fn from_uri(uri: &Uri<&str>) -> Result<Self, &'static str> {
        let is_https = match uri.scheme().as_str().to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err("is not an absolute `http` or `https` URL"),
        };
        let authority = uri.authority().ok_or("is not an absolute `http` or `https` URL")?;
        if authority.has_userinfo() {
            return Err("has a user name or password in it, for everybody to read");
        }
        let host = authority.host().to_ascii_lowercase();
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        let is_literal = host.starts_with('[') && !host.starts_with("[v");
        if host.is_empty() || !(is_literal || host.bytes().all(plain)) {
            return Err("has no plain host name (write an international one as `xn--…`)");
        }
        let port = authority.port_to_u16().map_err(|_| "has no such port")?;
        let port = port.unwrap_or(if is_https { 443 } else { 80 });
        if port == 0 {
            return Err("has no such port");
        }
        let scheme = if is_https { "https" } else { "http" };
        let path = match uri.path().as_str() {
            "" => "/",
            path => path,
        };
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let text = format!("{scheme}://{host}:{port}{path}{query}");
        let text = match (is_https, port) {
            (true, 443) | (false, 80) => format!("{scheme}://{host}{path}{query}"),
            _ => text,
        };
        Ok(Self { text, is_https, host, port })
    }

    /// Where a `Location` header leads to from here; `None` where it leads to no such URL.
    pub(crate) fn follow(&self, location: &str) -> Option<Self> {
        if location.len() > URL_BYTES {
            return None;
        }
        let base = Uri::parse(self.text.as_str()).ok()?;
        let resolved = UriRef::parse(location).ok()?.resolve_against(&base).ok()?;
        Self::from_uri(&resolved.strip_fragment()).ok().filter(|to| to.text.len() <= URL_BYTES)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_https(&self) -> bool {
        self.is_https
    }

    /// Scheme, host and port: what a person calls the server.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        match (self.is_https, self.port) {
            (true, 443) | (false, 80) => format!("{scheme}://{}", self.host),
            (_, port) => format!("{scheme}://{}:{port}", self.host),
        }
    }

    /// A name in lower case, or an address; an IPv6 one in brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From its first `/` on, without the query.
    pub(crate) fn path(&self) -> &str {
        let path = &self.text[self.origin().len()..];
        path.split('?').next().unwrap_or(path)
    }

    /// Returns true if the server is this very machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host.trim_start_matches('[').trim_end_matches(']');
        let address = address.parse::<std::net::IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_table() {
        let good = [
            ("https://api.example", "https://api.example/", "https://api.example"),
            ("HTTPS://API.Example:443/A?b=C", "https://api.example/A?b=C", "https://api.example"),
            ("http://h:80", "http://h/", "http://h"),
            ("http://h:8080?q", "http://h:8080/?q", "http://h:8080"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x", "http://[::1]:8080"),
            ("https://h:80/", "https://h:80/", "https://h:80"),
        ];
        for (text, whole, origin) in good {
            let got = Address::parse(text).unwrap();
            assert_eq!((got.as_str(), got.origin().as_str()), (whole, origin), "{text}");
            let query =
                whole.split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
            assert_eq!(format!("{}{}{query}", got.origin(), got.path()), whole, "{text}");
            let (scheme, port) = (origin.split(':').next().unwrap(), got.port());
            let again = Address::parse(&format!("{scheme}://{}:{port}/", got.host())).unwrap();
            assert_eq!(again.origin(), origin, "{text}");
        }
        for bad in [
            "",
            "api.example/x",
            "//api.example",
            "/x",
            "ftp://h/",
            "file:///etc/passwd",
            "https:///x",
            "https://",
            "https://user@h/",
            "https://user:pw@h/",
            "https://h\\@evil/",
            "https://h/#top",
            "https://h:0/",
            "https://h:65536/",
            "https://h:x/",
            "https://h /",
            "https://h/a b",
            "https://h/\r\nX: y",
            "https://h%2eevil/",
            "https://exämple/",
            "https://h/{city}",
            "https://[v1.x]/",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
        assert!(Address::parse(&format!("https://h/{}", "x".repeat(9000))).is_err());
    }

    #[test]
    fn where_a_location_leads_to() {
        let from = Address::parse("https://h:8443/a/b?c").unwrap();
        let rows = [
            ("/x", Some("https://h:8443/x")),
            ("x?y#z", Some("https://h:8443/a/x?y")),
            ("//other/x", Some("https://other/x")),
            ("http://h/", Some("http://h/")),
            ("../../../x", Some("https://h:8443/x")),
            ("", Some("https://h:8443/a/b?c")),
            ("https://user@h/", None),
            ("javascript:1", None),
            ("/a b", None),
        ];
        for (location, want) in rows {
            let got = from.follow(location);
            assert_eq!(got.as_ref().map(Address::as_str), want, "{location}");
        }
    }

    #[test]
    fn this_machine_is_known() {
        for (url, want) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.2/", true),
            ("http://[::1]/", true),
            ("http://localhost.evil/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(Address::parse(url).unwrap().is_loopback(), want, "{url}");
        }
    }
}
