//! Chains of certificates that hold, and that do not.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};

use super::certificate::{Cert, check_chain};
use super::error::OmsError;
use crate::base::Timestamp;
use crate::diagnostic::Diagnose;

/// The fifteenth of January 2027.
const NOW: i64 = 1_800_000_000;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap()
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2099, 1, 1);
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn signer(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    params
}

fn root(params: CertificateParams) -> Issuer {
    CertifiedIssuer::self_signed(params, key()).unwrap()
}

fn issued(params: CertificateParams, by: &Issuer) -> Issuer {
    CertifiedIssuer::signed_by(params, key(), by).unwrap()
}

fn cert(of: &Issuer) -> Cert {
    Cert::read(of.der()).unwrap_or_else(|why| panic!("{why}"))
}

fn check(chain: &[&Issuer], roots: &[&Issuer]) -> Result<String, OmsError> {
    let chain: Vec<_> = chain.iter().map(|it| cert(it)).collect();
    let roots: Vec<_> = roots.iter().map(|it| cert(it)).collect();
    check_chain(&chain, &roots, Timestamp::from_second(NOW)).map(|(leaf, _)| leaf.subject)
}

/// The same chain with one of its three certificates changed.
fn changed(
    of_root: impl FnOnce(&mut CertificateParams),
    of_middle: impl FnOnce(&mut CertificateParams),
    of_leaf: impl FnOnce(&mut CertificateParams),
) -> (Issuer, Issuer, Issuer) {
    let (mut top, mut middle, mut leaf) = (authority("root"), authority("middle"), signer("leaf"));
    of_root(&mut top);
    of_middle(&mut middle);
    of_leaf(&mut leaf);
    let top = root(top);
    let middle = issued(middle, &top);
    let leaf = issued(leaf, &middle);
    (top, middle, leaf)
}

#[test]
fn a_certificate_counts_if_a_way_leads_to_a_root_that_was_given() {
    let (top, middle, leaf) = changed(|_| (), |_| (), |_| ());
    for chain in [vec![&leaf, &middle], vec![&leaf, &middle, &top], vec![&leaf, &top, &middle]] {
        assert_eq!(check(&chain, &[&top]).as_deref(), Ok("CN=leaf"));
    }
    // Whoever gives the middle one, or the signer's own, means just that.
    assert_eq!(check(&[&leaf], &[&middle]).as_deref(), Ok("CN=leaf"));
    assert_eq!(check(&[&leaf], &[&leaf]).as_deref(), Ok("CN=leaf"));
    let other = root(authority("root"));
    let unknown = [
        check(&[&leaf, &middle], &[]),
        check(&[&leaf, &middle], &[&other]),
        check(&[&leaf], &[&top]),
        check(&[&leaf, &other], &[&top]),
        // A root in the signature file itself makes nobody known.
        check(&[&leaf, &middle, &top], &[&other]),
    ];
    for said in unknown {
        assert!(matches!(said, Err(OmsError::UnknownSigner { .. })), "{said:?}");
    }
}

#[test]
fn a_certificate_that_has_expired_or_is_for_something_else_is_refused_by_name() {
    use ExtendedKeyUsagePurpose::{Any, CodeSigning, ServerAuth};
    let no = |_: &mut CertificateParams| ();
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2026, 1, 1);
    let early = |params: &mut CertificateParams| params.not_before = date_time_ymd(2030, 1, 1);
    let for_servers = |p: &mut CertificateParams| p.extended_key_usages = vec![ServerAuth];
    let is_no_ca = |params: &mut CertificateParams| {
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    };
    let may_not_issue = |p: &mut CertificateParams| p.key_usages = vec![KeyUsagePurpose::CrlSign];
    let rows = vec![
        ("an expired signer", changed(no, no, expired)),
        ("an expired authority", changed(no, expired, no)),
        ("an expired root", changed(expired, no, no)),
        ("a signer of tomorrow", changed(no, no, early)),
        ("a signer for servers", changed(no, no, for_servers)),
        ("a signer for anything", changed(no, no, |p| p.extended_key_usages = vec![Any])),
        (
            "a signer that may not sign",
            changed(no, no, |p| {
                p.key_usages = vec![KeyUsagePurpose::KeyAgreement];
            }),
        ),
        (
            "a signer that says nothing",
            changed(no, no, |p| {
                (p.key_usages, p.extended_key_usages) = (Vec::new(), Vec::new());
            }),
        ),
        ("an authority for servers", changed(no, for_servers, no)),
        ("an authority that is none", changed(no, is_no_ca, no)),
        ("a root without authority", changed(is_no_ca, no, no)),
        ("an authority that may not issue", changed(no, may_not_issue, no)),
        (
            "a way that is too long",
            changed(|p| p.is_ca = IsCa::Ca(BasicConstraints::Constrained(0)), no, no),
        ),
    ];
    for (what, (top, middle, leaf)) in rows {
        let said = check(&[&leaf, &middle], &[&top]);
        assert!(matches!(said, Err(OmsError::Certificate { .. })), "{what}: {said:?}");
        assert_eq!(said.unwrap_err().code().name(), "oms.certificate");
    }
    // One purpose among several is enough, and so is one way to say it. The vectors of the
    // specification say `CA:TRUE` of the signer.
    let fine = vec![
        changed(no, no, |p| p.extended_key_usages = vec![ServerAuth, CodeSigning]),
        changed(no, no, |p| p.extended_key_usages = Vec::new()),
        changed(no, no, |p| p.key_usages = Vec::new()),
        changed(no, no, |p| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
        changed(no, |p| p.extended_key_usages = vec![CodeSigning], no),
        changed(no, |p| p.is_ca = IsCa::Ca(BasicConstraints::Constrained(0)), no),
        changed(|p| p.is_ca = IsCa::Ca(BasicConstraints::Constrained(1)), no, no),
    ];
    for (top, middle, leaf) in fine {
        assert_eq!(check(&[&leaf, &middle], &[&top]).as_deref(), Ok("CN=leaf"));
    }
}

#[test]
fn a_certificate_that_is_not_understood_is_not_read() {
    let other = |params: &mut CertificateParams| {
        let mut custom = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        custom.set_criticality(true);
        params.custom_extensions = vec![custom];
    };
    let limited = |params: &mut CertificateParams| {
        let permitted_subtrees = vec![rcgen::GeneralSubtree::DnsName("acme.example".into())];
        let excluded_subtrees = Vec::new();
        params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees });
    };
    let (_, _, leaf) = changed(|_| (), |_| (), other);
    assert!(Cert::read(leaf.der()).unwrap_err().contains("critical extension"));
    let (_, middle, _) = changed(|_| (), limited, |_| ());
    assert!(Cert::read(middle.der()).unwrap_err().contains("name constraints"));
    let (_, _, good) = changed(|_| (), |_| (), |_| ());
    let der = good.der().to_vec();
    assert!(Cert::read(&der).is_ok());
    assert!(Cert::read(&[&der[..], &[0]].concat()).is_err());
    assert!(Cert::read(&der[1..]).is_err());
}

/// Each fifth byte here; the whole is each byte.
#[test]
fn a_certificate_with_any_bit_flipped_vouches_for_nobody() {
    let (top, middle, leaf) = changed(|_| (), |_| (), |_| ());
    let (good, chain, roots) = (leaf.der().to_vec(), [cert(&middle)], [cert(&top)]);
    let now = Timestamp::from_second(NOW);
    let is_accepted = |der: &[u8]| {
        let Ok(leaf) = Cert::read(der) else { return false };
        let chain = [&[leaf][..], &chain[..]].concat();
        check_chain(&chain, &roots, now).is_ok()
    };
    assert!(is_accepted(&good));
    let step = if crate::base::whole_tests() { 1 } else { 5 };
    for at in (0..good.len()).step_by(step) {
        let mut der = good.clone();
        der[at] ^= 1 << (at % 8);
        assert!(!is_accepted(&der), "byte {at}");
    }
}

#[test]
fn a_subject_is_shown_with_what_nobody_sees_written_out_and_nothing_that_a_directive_fills_in() {
    let shown = |name: &str| cert(&root(signer(name))).subject();
    assert_eq!(shown("Acme"), "CN=Acme");
    assert_eq!(shown("Ac\u{202e}me"), "CN=Ac\\u{202e}me");
    assert_eq!(shown("{input:x} `y`"), "CN=?input:x? ?y?");
}
