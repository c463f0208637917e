//! Why a signature says nothing about its sender.

use strum::EnumMessage as _;

/// What came of a signature, in the words of the draft's appendix on deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray, strum::EnumCount)]
#[strum(serialize_all = "kebab-case")]
pub enum SignatureOutcomeKind {
    /// It is right, and the agent is known.
    Verified,
    /// It is wrong: the fields, the time, the components or the signature itself.
    Invalid,
    /// It may be right: the agent, its key or what it covers is not known here, or too much was to be verified.
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
#[derive(strum::Display, strum::EnumMessage, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum SignatureFault {
    /// `alg` is not what the key signs by.
    #[strum(
        message = "the parameter `alg` names another algorithm than that of the key: name that one, or none; \
                       shared secrets (hmac) prove nothing here"
    )]
    AlgorithmMismatch,
    /// The field `Signature-Agent` is not covered.
    #[strum(message = "the field Signature-Agent is sent, and no one member of it is covered: sign \
                       \"signature-agent\";key=\"LABEL\", or \"signature-agent\" where the field has one member")]
    AgentNotCovered,
    /// Neither `@authority` nor `@target-uri` is covered.
    #[strum(message = "neither \"@authority\" nor \"@target-uri\" is covered: one of them must be signed")]
    AuthorityNotCovered,
    /// The member of `Signature-Agent` has parameters, which say that it is something else.
    #[strum(
        message = "the member of Signature-Agent has parameters other than `type=directory`, so it is left \
                       alone: send the URL of the key set, or its origin, without any"
    )]
    DirectoryType,
    /// A component is covered twice.
    #[strum(message = "a component is covered twice")]
    DuplicateComponent,
    /// `expires`, or 24 hours after `created`, has passed.
    #[strum(message = "it has expired: `expires` has passed, or it was created more than 24 hours ago")]
    Expired,
    /// `created` is in the future.
    #[strum(message = "`created` lies in the future: compare the clocks")]
    FromTheFuture,
    /// The signature does not match what was signed.
    #[strum(message = "the signature does not match the signature base: compare it, line by line, \
                       with the one that was signed")]
    Mismatch,
    /// A covered field or parameter is not in the message.
    #[strum(message = "a covered component is not in the message")]
    MissingComponent,
    /// There is no `created`, `expires` or `keyid`.
    #[strum(message = "one of the parameters `created`, `expires` and `keyid` is missing")]
    MissingParameter,
    /// `Signature` has no signature of this label.
    #[strum(message = "the field Signature has no byte sequence of this label")]
    MissingSignature,
    /// There is no `Signature-Agent`, so no directory is named.
    #[strum(message = "the field Signature-Agent is missing, so nothing says where the key is published")]
    NoAgent,
    /// No keys of this agent have been fetched.
    #[strum(message = "no keys of this agent were fetched yet: run `gatewayctl crawlers refresh`, \
                       or set `[verify] refresh`")]
    NoKeys,
    /// `Signature-Agent` holds something else than an https URL.
    #[strum(message = "Signature-Agent must be an https origin, such as \"https://agent.example\", or the \
                       https URL of a key set")]
    NotAnOrigin,
    /// There are more signatures, or more in a field, than is looked at.
    #[strum(
        message = "there are more signatures or components than are read, or a field is longer than 8 KiB"
    )]
    TooMany,
    /// More signatures were to be verified than are.
    #[strum(message = "more signatures came than are verified in a second: it was not looked at")]
    TooMuchWork,
    /// The agent is not one that the catalogue names.
    #[strum(message = "no crawler of the catalogue has this `signature_agent`, so its keys are not fetched")]
    UnknownAgent,
    /// A component of this name, or with this parameter, is not known.
    #[strum(message = "a component is covered that is not known here, or has a parameter that is not")]
    UnknownComponent,
    /// The agent's directory does not have this key.
    #[strum(message = "the agent's directory, as last fetched, has no key of this `keyid` (a \
                       base64url JWK thumbprint)")]
    UnknownKey,
    /// A field cannot be read as a structured field.
    #[strum(message = "a field cannot be read: expected a structured field as RFC 9421 describes it")]
    Unreadable,
    /// No signature has the tag that is asked for.
    #[strum(message = "no signature has the tag \"web-bot-auth\"")]
    WrongTag,
    /// A parameter has a value of the wrong kind, or `expires` is not later than `created`.
    #[strum(message = "a parameter has a value of the wrong kind, or `expires` is not later than `created`")]
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
            | Self::TooMany
            | Self::TooMuchWork
            | Self::UnknownAgent
            | Self::UnknownComponent
            | Self::UnknownKey
            | Self::WrongTag => SignatureOutcomeKind::Unverified,
            _ => SignatureOutcomeKind::Invalid,
        }
    }

    /// What is wrong, as a sentence for whoever signs: lower case, without a full stop.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}
