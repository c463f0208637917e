// Sends one signed request, and prints the status and the body of the answer.
// Usage: node send.mjs URL AGENT JWK FORM
// FORM is `path` or `authority`, signed by the npm package web-bot-auth, which sends the agent as a string as agents do
// today, or `dictionary`, signed by http-message-sig, which knows the form of the draft.
import { component, createSignature, webcrypto } from "http-message-sig";
import { signatureHeaders } from "web-bot-auth";
import { signerFromJWK } from "web-bot-auth/crypto";

const [url, agent, jwk, form] = process.argv.slice(2);
const userAgent =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36";
const isDictionary = form === "dictionary";
const headers = { "User-Agent": userAgent, "Signature-Agent": isDictionary ? `sig1="${agent}"` : `"${agent}"` };
const request = new Request(url, { headers });
const signer = await signerFromJWK(JSON.parse(jwk));
const now = Date.now();

async function asDictionary() {
  const key = await crypto.subtle.importKey("jwk", JSON.parse(jwk), "Ed25519", false, ["sign"]);
  const created = Math.floor(now / 1000);
  const fields = await createSignature(request, {
    label: "sig1",
    components: ["@authority", "@method", "@path", component("signature-agent", { key: "sig1" })],
    parameters: { created, expires: created + 300, keyid: signer.keyid, alg: "ed25519", tag: "web-bot-auth" },
    signer: webcrypto.signer(key),
  });
  return { Signature: fields.signature, "Signature-Input": fields.signatureInput };
}

async function asString() {
  const covered = form === "authority" ? ["@authority"] : ["@authority", "@method", "@path"];
  const components = [...covered, "signature-agent"];
  return signatureHeaders(request, signer, { created: new Date(now), expires: new Date(now + 300_000), components });
}

const signed = isDictionary ? await asDictionary() : await asString();
const answer = await fetch(url, { headers: { ...headers, ...signed } });
console.log(answer.status);
console.log(await answer.text());
