//! Which addresses belong to the public internet.
//!
//! Source: the IANA special-purpose address registries for IPv4 and IPv6, of which every block
//! counts as reserved, also the few of which a part is globally reachable.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The blocks of IPv4 that are not public: the first address, and the length of the prefix.
const RESERVED_V4: [(Ipv4Addr, u32); 17] = [
    // "This network"; Linux takes 0.0.0.0 for this machine.
    (Ipv4Addr::UNSPECIFIED, 8),
    // Private (RFC 1918).
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Shared by a provider's customers (RFC 6598); a cloud's metadata at 100.100.100.200.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // This machine.
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // The same link; most clouds' metadata at 169.254.169.254.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // A cloud's own server for its machines; its address looks public.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Private.
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // Protocol assignments; a cloud's metadata at 192.0.0.192.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4, given up.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Private.
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Measurements between networks.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Documentation.
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and the broadcast address.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    (Ipv4Addr::BROADCAST, 32),
];

/// All that is given out of IPv6 (`2000::/3`), and what of it is not public.
const GIVEN_OUT: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const RESERVED_V6: [(Ipv6Addr, u32); 4] = [
    // Protocol assignments: Teredo, benchmarks, ORCHID.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4: an IPv4 address in disguise, given up.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    // Documentation.
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
/// Translated to IPv4, whose address is in the last 32 bits (RFC 6052).
const TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Returns true if an address is one of the public internet: not of this machine, this link, a
/// private network, a cloud's metadata, nor of a block that is reserved. An address that carries an
/// IPv4 one is judged by that.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => !RESERVED_V4.iter().any(|block| holds_v4(*block, v4)),
        IpAddr::V6(v6) if holds_v6(TRANSLATED, v6) => {
            let [.., a, b, c, d] = v6.octets();
            is_public(Ipv4Addr::new(a, b, c, d).into())
        }
        IpAddr::V6(v6) => {
            holds_v6(GIVEN_OUT, v6) && !RESERVED_V6.iter().any(|block| holds_v6(*block, v6))
        }
    }
}

fn holds_v4((first, length): (Ipv4Addr, u32), address: Ipv4Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= length
}

fn holds_v6((first, length): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= length
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn addresses_of_the_public_internet_are_told_from_all_others_table() {
        for (address, want) in [
            ("8.8.8.8", true),
            ("1.1.1.1", true),
            ("9.255.255.255", true),
            ("11.0.0.0", true),
            ("100.63.255.255", true),
            ("100.128.0.0", true),
            ("126.255.255.255", true),
            ("128.0.0.1", true),
            ("168.63.129.15", true),
            ("169.253.255.255", true),
            ("172.15.255.255", true),
            ("172.32.0.0", true),
            ("192.0.1.0", true),
            ("192.167.255.255", true),
            ("198.17.255.255", true),
            ("198.20.0.0", true),
            ("223.255.255.255", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("100.100.100.200", false),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("168.63.129.16", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.192", false),
            ("192.0.2.7", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("198.51.100.7", false),
            ("203.0.113.7", false),
            ("224.0.0.1", false),
            ("239.255.255.250", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700:4700::1111", true),
            ("2a00:1450:4001::200e", true),
            ("2001:200::1", true),
            ("2001:4860:4860::8888", true),
            ("::", false),
            ("::1", false),
            // An IPv4 address in one of IPv6: mapped, compatible, translated, 6to4, Teredo.
            ("::ffff:8.8.8.8", true),
            ("::ffff:127.0.0.1", false),
            ("::ffff:169.254.169.254", false),
            ("::ffff:0:127.0.0.1", false),
            ("::127.0.0.1", false),
            ("::8.8.8.8", false),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b::10.0.0.1", false),
            ("64:ff9b::169.254.169.254", false),
            ("64:ff9b:1::8.8.8.8", false),
            ("2002:7f00:1::", false),
            ("2002:808:808::1", false),
            ("2001::1", false),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", false),
            ("2001:2::1", false),
            ("2001:10::1", false),
            ("2001:1ff:ffff::", false),
            ("2001:db8::1", false),
            ("3fff::1", false),
            ("3fff:fff::1", false),
            ("3fff:1000::1", true),
            ("100::1", false),
            ("4000::1", false),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), want, "{address}");
        }
    }
}
