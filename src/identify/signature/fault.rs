//! Why a signature says nothing about its sender.

/// What came of a signature, in the words of the draft's appendix on deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray, strum::EnumCount)]
#[strum(serialize_all = "kebab-case")]
pub enum SignatureOutcomeKind {
    /// It is right, and the agent is known.
    Verified,
    /// It is wrong: the fields, the time, the components or the signature itself.
    Invalid,
    /// It may be right: the agent or its key is not known here, or too much was to be verified.
    Unverified,
}

impl SignatureOutcomeKind {
    /// The public word.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What is wrong with a signature, or what is missing to verify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum SignatureFault {
    /// The key is of another algorithm than `alg` says.
    AlgorithmMismatch,
    /// The field `Signature-Agent` is not covered.
    AgentNotCovered,
    /// Neither `@authority` nor `@target-uri` is covered.
    AuthorityNotCovered,
    /// `Signature-Agent` asks for another way to find keys than a directory.
    DirectoryType,
    /// A component is covered twice.
    DuplicateComponent,
    /// A label stands twice in a field.
    DuplicateLabel,
    /// A parameter stands twice.
    DuplicateParameter,
    /// `expires` is not after `created`.
    EndsBeforeStart,
    /// `expires`, or 24 hours after `created`, has passed.
    Expired,
    /// `created` is in the future.
    FromTheFuture,
    /// The signature does not match what was signed.
    Mismatch,
    /// A covered field or parameter is not in the message.
    MissingComponent,
    /// There is no `created`.
    MissingCreated,
    /// There is no `expires`.
    MissingExpires,
    /// There is no `keyid`.
    MissingKeyid,
    /// Nonces are wanted, and there is none.
    MissingNonce,
    /// `Signature` has no signature of this label.
    MissingSignature,
    /// There is no `Signature-Agent`, so no directory is named.
    NoAgent,
    /// No keys of this agent have been fetched.
    NoKeys,
    /// `Signature-Agent` holds something else than an https origin.
    NotAnOrigin,
    /// A nonce was used before.
    RepeatedNonce,
    /// The algorithm is one of shared secrets.
    SharedSecret,
    /// A field is longer than is read.
    TooLong,
    /// There are more signatures than are looked at.
    TooMany,
    /// More signatures were to be verified than are.
    TooMuchWork,
    /// The agent is not one that the catalogue names.
    UnknownAgent,
    /// The algorithm is not known.
    UnknownAlgorithm,
    /// A component of this name is not known.
    UnknownComponent,
    /// The agent's directory does not have this key.
    UnknownKey,
    /// A field cannot be read as a structured field.
    Unreadable,
    /// A component has a parameter that is not supported.
    UnsupportedParameter,
    /// The signature is not as long as its algorithm makes it.
    WrongLength,
    /// No signature has the tag that is asked for.
    WrongTag,
    /// A parameter has a value of the wrong kind.
    WrongType,
}

impl SignatureFault {
    /// The public word.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether it is wrong, or merely not known to be right.
    #[must_use]
    pub const fn kind(self) -> SignatureOutcomeKind {
        match self {
            Self::DirectoryType
            | Self::NoAgent
            | Self::NoKeys
            | Self::TooMuchWork
            | Self::UnknownAgent
            | Self::UnknownKey => SignatureOutcomeKind::Unverified,
            _ => SignatureOutcomeKind::Invalid,
        }
    }

    /// What is wrong, as a sentence for whoever signs: lower case, without a full stop.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::AlgorithmMismatch => "the key is of another algorithm than the parameter `alg` says",
            Self::AgentNotCovered => {
                "the field Signature-Agent is sent and not covered: sign \"signature-agent\";key=\"LABEL\", or \
                 \"signature-agent\" where the field is a bare string"
            }
            Self::AuthorityNotCovered => {
                "neither \"@authority\" nor \"@target-uri\" is covered: one of them must be signed"
            }
            Self::DirectoryType => {
                "Signature-Agent has a `type` other than `directory`, which is the only one that is supported"
            }
            Self::DuplicateComponent => "a component is covered twice",
            Self::DuplicateLabel => "a label stands twice in one field",
            Self::DuplicateParameter => "a parameter stands twice",
            Self::EndsBeforeStart => "`expires` must be later than `created`",
            Self::Expired => "it has expired: `expires` has passed, or it was created more than 24 hours ago",
            Self::FromTheFuture => "`created` lies in the future: compare the clocks",
            Self::Mismatch => {
                "the signature does not match the signature base: compare it, line by line, with the one that was \
                 signed"
            }
            Self::MissingComponent => "a covered component is not in the message",
            Self::MissingCreated => "the parameter `created` is missing",
            Self::MissingExpires => "the parameter `expires` is missing",
            Self::MissingKeyid => "the parameter `keyid` is missing",
            Self::MissingNonce => "the parameter `nonce` is missing, and this site wants one",
            Self::MissingSignature => "the field Signature has no byte sequence of this label",
            Self::NoAgent => {
                "the field Signature-Agent is missing, so nothing says where the key is published"
            }
            Self::NoKeys => {
                "no keys of this agent were fetched yet: run `gatewayctl crawlers refresh`, or set `[verify] refresh`"
            }
            Self::NotAnOrigin => {
                "Signature-Agent must be an https origin, such as \"https://agent.example\", without a path"
            }
            Self::RepeatedNonce => "the `nonce` was used before",
            Self::SharedSecret => "shared secrets (hmac) prove nothing here: sign with a key pair",
            Self::TooLong => "a field is longer than 8 KiB",
            Self::TooMany => "there are more than four signatures: only the first four are looked at",
            Self::TooMuchWork => "more signatures came than are verified in a second: it was not looked at",
            Self::UnknownAgent => {
                "no crawler of the catalogue has this `signature_agent`, so its keys are not fetched"
            }
            Self::UnknownAlgorithm => {
                "the algorithm is not supported: use ed25519, rsa-pss-sha512 or ecdsa-p256-sha256"
            }
            Self::UnknownComponent => "a component is covered that is not known here",
            Self::UnknownKey => {
                "the agent's directory, as last fetched, has no key of this `keyid` (a base64url JWK thumbprint)"
            }
            Self::Unreadable => "a field is no structured field of the kind that RFC 9421 wants",
            Self::UnsupportedParameter => "a component has a parameter that is not supported",
            Self::WrongLength => "the signature is not as long as signatures of its algorithm are",
            Self::WrongTag => "no signature has the tag \"web-bot-auth\"",
            Self::WrongType => "a parameter has a value of the wrong kind",
        }
    }
}
