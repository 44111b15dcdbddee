import { createHash } from "node:crypto";
import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose";
import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import { isSameSecret } from "../../platform/keys/same-secret";
import { type ProviderIdentity, parseProfile } from "./profile";
import { providerKeys } from "./provider-keys";
import { issuerOf } from "./providers";

type Deps = Pick<Context, "config" | "db" | "log" | "now">;

type Config = Context["config"];
type Provider = {
  name: "apple" | "google";
  issuers: string[];
  audiences: string[];
  nonceClaim: (nonce: string) => string;
};

/** An ID token that was verified. `audience` is the app that it was issued to. */
export type VerifiedIdToken = {
  identity: ProviderIdentity;
  audience: string;
  /** Identifies the token, however its signature is encoded. */
  hash: string;
  /** Until then, a second use has to be refused. */
  expiresAt: Date;
};

const CLOCK_TOLERANCE_SECONDS = 60;
/** The session counts as authenticated now, so an older token would not do. */
const MAX_AGE_SECONDS = 10 * 60;

/**
 * Verifies an ID token that a native app got from Apple or Google (OpenID Connect Core 1.0, section 3.1.3.7): the
 * issuer, an audience of the configuration, the signature, the expiry, that it was issued in the last ten minutes, and
 * the nonce.
 * @throws AppError invalid_id_token, provider_unavailable
 */
export async function verifyIdToken(deps: Deps, token: string, nonce: string): Promise<VerifiedIdToken> {
  const provider = findProvider(deps.config, token);
  const issuer = issuerOf(deps.config, provider.name);
  const { payload } = await jwtVerify(token, providerKeys(deps, issuer), {
    algorithms: ["RS256"], // what both providers use; never "none" or a MAC
    issuer: provider.issuers,
    audience: provider.audiences,
    currentDate: deps.now(),
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    maxTokenAge: MAX_AGE_SECONDS,
    requiredClaims: ["exp", "sub", "nonce"],
  }).catch((error: unknown) => {
    throw isAppError(error) ? error : invalid(reasonOf(error), error);
  });
  const audience = onlyAudience(payload, provider);
  if (!isSameSecret(String(payload.nonce), provider.nonceClaim(nonce))) throw invalid("The nonce does not match");
  const expiresAt = new Date((Number(payload.exp) + CLOCK_TOLERANCE_SECONDS) * 1000);
  return { identity: { ...profileOf(provider, payload), issuer }, audience, hash: hashOf(token), expiresAt };
}

/** The error for a token that is refused, with the reason for the app's developer. */
export function invalid(detail: string, cause?: unknown): AppError {
  return new AppError("invalid_id_token", { detail, cause });
}

/** The provider that a token names as its issuer. Nothing is verified yet. */
function findProvider(config: Config, token: string): Provider {
  const { AUTH_APPLE_ISSUER, AUTH_APPLE_NATIVE_IDS, AUTH_GOOGLE_ISSUER, AUTH_GOOGLE_NATIVE_IDS } = config;
  const providers: Provider[] = [
    {
      name: "apple",
      issuers: [AUTH_APPLE_ISSUER],
      audiences: AUTH_APPLE_NATIVE_IDS,
      nonceClaim: (nonce) => createHash("sha256").update(nonce).digest("hex"),
    },
    {
      name: "google",
      // Google's documentation names both forms.
      issuers: [AUTH_GOOGLE_ISSUER, AUTH_GOOGLE_ISSUER.replace(/^https?:\/\//, "")],
      audiences: AUTH_GOOGLE_NATIVE_IDS,
      nonceClaim: (nonce) => nonce,
    },
  ];
  const issuer = issuerIn(token);
  const provider = providers.find(({ issuers, audiences }) => issuers.includes(issuer) && audiences.length > 0);
  if (!provider) throw invalid("The issuer is not configured for native apps");
  return provider;
}

function issuerIn(token: string): string {
  try {
    return String(decodeJwt(token).iss);
  } catch (error) {
    throw invalid("The token is not a JWT", error);
  }
}

/** The audience, if every one of the token's is configured (OpenID Connect Core 1.0, section 3.1.3.7, step 3). */
function onlyAudience({ aud }: JWTPayload, { audiences }: Provider): string {
  const [audience, ...others] = [aud].flat();
  if (audience === undefined || others.length > 0 || !audiences.includes(audience)) throw invalid(REASONS.aud);
  return audience;
}

function profileOf({ name }: Provider, payload: JWTPayload) {
  try {
    return parseProfile(name, payload);
  } catch (error) {
    throw invalid("The subject is not valid", error);
  }
}

/** The hash of what the signature covers: of one token, several encodings of the signature are valid. */
function hashOf(token: string): string {
  return createHash("sha256")
    .update(token.slice(0, token.lastIndexOf(".")))
    .digest("base64url");
}

const REASONS = {
  iss: "The issuer does not match",
  aud: "The audience is not configured",
  iat: "The token was not issued in the last ten minutes",
  exp: "The token has expired",
  nonce: "The token has no nonce",
} as const;

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
    return REASONS[error.claim as keyof typeof REASONS] ?? `The claim ${error.claim} is not valid`;
  }
  if (error instanceof errors.JWKSNoMatchingKey) return "The provider has no such key";
  return "The signature is not valid";
}
