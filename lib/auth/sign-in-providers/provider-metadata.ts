import { z } from "zod";

const TIMEOUT_MS = 5_000;

const HttpUrl = z.url({ protocol: /^https?$/ });
/** OpenID Connect Discovery 1.0, section 3. */
const Metadata = z.object({ issuer: z.string(), jwks_uri: HttpUrl, token_endpoint: HttpUrl });
type Metadata = z.infer<typeof Metadata>;

/** Fetches a provider's metadata. @throws Error if it does not respond, or names another issuer */
export async function fetchProviderMetadata(issuer: string): Promise<Metadata> {
  const metadata = Metadata.parse(await fetchJson(`${issuer}/.well-known/openid-configuration`));
  if (metadata.issuer !== issuer) throw new Error(`The metadata of ${issuer} names another issuer`);
  return metadata;
}

/** Fetches a provider's JSON Web Key Set, from the URL in its metadata. @throws Error if the provider does not respond */
export async function fetchProviderKeys(issuer: string): Promise<unknown> {
  return fetchJson((await fetchProviderMetadata(issuer)).jwks_uri);
}

async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return response.json();
  await response.body?.cancel();
  throw new Error(`${url} responded with ${response.status}`);
}
