//! Which addresses are public. Other addresses may be this machine, its network, or a cloud's internal
//! services, which trust every client that reaches them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are not public (IANA's registry of special addresses), and what they are.
const V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "this machine"),
    ([10, 0, 0, 0], 8, "a private network"),
    ([100, 64, 0, 0], 10, "a provider's internal network"),
    ([127, 0, 0, 0], 8, "this machine"),
    ([168, 63, 129, 16], 32, "a cloud's internal services"),
    ([169, 254, 0, 0], 16, "link-local, where clouds keep their metadata"),
    ([172, 16, 0, 0], 12, "a private network"),
    ([192, 0, 0, 0], 24, "reserved for protocols"),
    ([192, 0, 2, 0], 24, "for documentation only"),
    ([192, 88, 99, 0], 24, "reserved"),
    ([192, 168, 0, 0], 16, "a private network"),
    ([198, 18, 0, 0], 15, "for benchmarks only"),
    ([198, 51, 100, 0], 24, "for documentation only"),
    ([203, 0, 113, 0], 24, "for documentation only"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

/// All of IPv6 that is given out.
const V6_PUBLIC: ([u16; 8], u32) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// The exceptions in it that are not public.
const V6: &[([u16; 8], u32, &str)] = &[
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "reserved for protocols"),
    ([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32, "for documentation only"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "a tunnel to IPv4"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "for documentation only"),
];

/// Prefixes of 96 bits behind which an IPv4 address stands: as programs write it (mapped), and as a gateway from an
/// IPv6-only network translates it (NAT64).
const CARRIERS: [[u16; 6]; 2] = [[0, 0, 0, 0, 0, 0xffff], [0x64, 0xff9b, 0, 0, 0, 0]];

/// What an address is, if it is not public.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |(network, bits, _): &&([u8; 4], u32, _)| {
        let mask = u32::MAX << (32 - bits);
        address.to_bits() & mask == u32::from_be_bytes(*network)
    };
    V4.iter().find(within).map(|(.., what)| *what)
}

fn v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    if CARRIERS.iter().any(|carrier| segments[..6] == *carrier) {
        return v4(Ipv4Addr::from_bits(address.to_bits() as u32));
    }
    let within = |network: &[u16; 8], bits: u32| {
        let mask = u128::MAX << (128 - bits);
        address.to_bits() & mask == Ipv6Addr::from(*network).to_bits()
    };
    if !within(&V6_PUBLIC.0, V6_PUBLIC.1) {
        return Some(match segments[0] {
            0 => "this machine, or reserved",
            0xfc00..=0xfdff => "a private network",
            0xfe80..=0xfebf => "link-local",
            0xff00.. => "multicast",
            _ => "reserved",
        });
    }
    V6.iter().find(|(network, bits, _)| within(network, *bits)).map(|(.., what)| *what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_public(address: &str) -> bool {
        not_public(address.parse().unwrap()).is_none()
    }

    #[test]
    fn what_is_not_the_public_internet_is_known() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address), "{address}");
        }
    }

    #[test]
    fn what_is_public_is_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.15",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(address), "{address}");
        }
    }

    proptest! {
        /// However an IPv4 address is carried, it is the same address.
        #[test]
        fn a_carried_address_is_judged_as_itself(bits in any::<u32>()) {
            let plain = Ipv4Addr::from_bits(bits);
            for carrier in CARRIERS {
                let [a, b, c, d, e, f] = carrier;
                let (high, low) = ((bits >> 16) as u16, bits as u16);
                let carried = Ipv6Addr::new(a, b, c, d, e, f, high, low);
                prop_assert_eq!(not_public(carried.into()), not_public(plain.into()));
            }
        }
    }
}
