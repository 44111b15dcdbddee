import { z } from "zod";

const TIMEOUT_MS = 5_000;

/** OpenID Connect Discovery 1.0, section 3. */
const Metadata = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/** Fetches a provider's JSON Web Key Set, from the URL in its metadata. @throws Error if the provider does not respond */
export async function fetchProviderKeys(issuer: string): Promise<unknown> {
  const metadata = Metadata.parse(await fetchJson(`${issuer}/.well-known/openid-configuration`));
  if (metadata.issuer !== issuer) throw new Error(`The metadata of ${issuer} names another issuer`);
  return fetchJson(metadata.jwks_uri);
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
