import { createHash } from "node:crypto";
import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose";
import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { type EventExtra, networkOf } from "../../platform/audit/security-events";
import { newId } from "../../platform/db/ids";
import { decryptToken, encryptToken } from "../../platform/keys/encrypted-token";
import { toStorableText } from "../../platform/storable";
import type { BuildSource, Caller, Operator, PublisherPrincipal } from "../../principal";
import { providerKeys } from "../sign-in-providers/provider-keys";
import { type Difference, findDifferences, idsOf, sourceOf } from "./match-claims";
import { describe, isIssuerAllowed } from "./publishers";
import type { Publisher } from "./schema";

type Deps = Pick<Context, "config" | "db" | "limits" | "log" | "now">;
type EventDetails = NonNullable<EventExtra["details"]>;

/** What every access token begins with. Session tokens never do. */
const PREFIX = "hpt_";
const PURPOSE = "publisher";
const ACCESS_TOKEN_SECONDS = 15 * 60;

/** Those of a public key. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const CLOCK_TOLERANCE_SECONDS = 60;
/** GitHub's ID tokens are valid for minutes, GitLab's as long as a job may run: an hour by default. */
const MAX_LIFETIME_SECONDS = 2 * 60 * 60;
const MAX_TEXT_LENGTH = 256;

/** An ID token whose signature, times and audience are right. */
type VerifiedToken = { claims: JWTPayload; jti: string; expiresAt: Date };
/** An access token, and the publisher that it acts for. */
type Issued = { token: string; expiresInSeconds: number; publisher: PublisherPrincipal["publisher"] };

/** Why an ID token is refused. Only operators see it. */
class Refusal extends Error {
  readonly publisher: Publisher | undefined;

  constructor(
    readonly difference: Difference,
    { cause, publisher }: { cause?: unknown; publisher?: Publisher } = {},
  ) {
    super(`The claim ${difference.claim} is not ${difference.expected}`, { cause });
    this.publisher = publisher;
  }
}

/**
 * Exchanges the ID token of a CI job for an access token to the releases of its publisher's product (RFC 8693, section 2). An
 * ID token works once. `product` is needed if the job may publish several.
 * @throws AppError invalid_id_token with an id, under which the audit trail has the reason; validation_failed without a
 *   product that is needed; provider_unavailable; rate_limited after many invalid tokens
 */
export async function exchangeJobToken(ctx: Deps, idToken: string, product: string | undefined, caller: Caller) {
  let verified: VerifiedToken | undefined;
  try {
    const { issuer, publishers } = await findPublishers(ctx, idToken);
    verified = await verifyJobToken(ctx, idToken, issuer);
    const publisher = choosePublisher(publishers, verified.claims, product);
    return await issueAccessToken(ctx, publisher, verified, caller);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw await refuse(ctx, error, verified?.claims ?? claimsOf(idToken), caller);
  }
}

/** The publishers with the issuer that a token names. Nothing is verified yet. */
async function findPublishers({ config, db }: Deps, idToken: string) {
  const { iss } = claimsOf(idToken);
  const issuer = toStorableText(shown(iss));
  const rows = await db.publisher.findMany({ where: { issuer }, orderBy: { id: "asc" } });
  if (rows.length > 0 && isIssuerAllowed(config, issuer)) return { issuer, publishers: rows.map(describe) };
  throw new Refusal({ claim: "iss", expected: "the issuer of a publisher", actual: issuer });
}

function claimsOf(idToken: string): JWTPayload {
  try {
    return decodeJwt(idToken);
  } catch {
    return {};
  }
}

/** Verifies a token as OpenID Connect Core 1.0, section 3.1.3.7, has it. @throws Refusal; AppError provider_unavailable */
async function verifyJobToken(ctx: Deps, idToken: string, issuer: string): Promise<VerifiedToken> {
  const { baseUrl } = ctx.config;
  const { payload } = await jwtVerify(idToken, providerKeys(ctx, issuer), {
    algorithms: ALGORITHMS,
    issuer,
    audience: baseUrl,
    currentDate: ctx.now(),
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    maxTokenAge: MAX_LIFETIME_SECONDS,
    requiredClaims: ["exp", "iat", "jti"],
  }).catch((error: unknown) => {
    throw isAppError(error) ? error : new Refusal(describeFault(error, claimsOf(idToken), baseUrl), { cause: error });
  });
  const { aud, exp = 0, iat = 0, jti } = payload;
  if ([aud].flat().length !== 1) throw new Refusal({ claim: "aud", expected: baseUrl, actual: shown(aud) });
  if (typeof jti !== "string" || jti === "") throw new Refusal({ claim: "jti", expected: "text", actual: null });
  if (exp - iat > MAX_LIFETIME_SECONDS) {
    throw new Refusal({ claim: "exp", expected: "at most two hours after iat", actual: String(exp) });
  }
  return { claims: payload, jti, expiresAt: new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000) };
}

const SIGNATURE = "signature";
const EXPECTED: Readonly<Record<string, string>> = {
  exp: "in the future",
  nbf: "in the past",
  iat: "in the last two hours",
  jti: "text",
};

/** What is wrong with a token that jose refuses. */
function describeFault(error: unknown, claims: JWTPayload, baseUrl: string): Difference {
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
    const { claim, message } = error;
    return { claim, expected: claim === "aud" ? baseUrl : (EXPECTED[claim] ?? message), actual: shown(claims[claim]) };
  }
  return { claim: SIGNATURE, expected: "one by a key of the issuer", actual: null };
}

/**
 * The publisher whose token this is. Of several for one product, the one with the longest pattern of refs.
 * @throws Refusal with the difference from the publisher that is closest; AppError validation_failed
 */
function choosePublisher(publishers: Publisher[], claims: JWTPayload, product: string | undefined): Publisher {
  const candidates = publishers
    .filter((publisher) => product === undefined || publisher.product === product)
    .map((publisher) => ({ publisher, differences: findDifferences(publisher, claims) }))
    .sort((a, b) => a.differences.length - b.differences.length);
  const [closest] = candidates;
  if (!closest) throw new Refusal({ claim: "product", expected: "one of a publisher", actual: product ?? null });
  const [difference] = closest.differences;
  if (difference) throw new Refusal(difference, closest);
  const matching = candidates.filter(({ differences }) => differences.length === 0).map((one) => one.publisher);
  if (new Set(matching.map((one) => one.product)).size > 1) {
    const detail = "Required: the job may publish several products";
    throw new AppError("validation_failed", { errors: [{ pointer: "/audience", code: "required", detail }] });
  }
  return matching.reduce((best, one) => ((one.ref?.length ?? 0) > (best.ref?.length ?? 0) ? one : best));
}

/** Records the use of an ID token, and what its publisher's first one pins, at once. @throws Refusal */
async function issueAccessToken(
  ctx: Deps,
  publisher: Publisher,
  verified: VerifiedToken,
  caller: Caller,
): Promise<Issued> {
  const { id, issuer, name, product, channel } = publisher;
  const { claims, jti, expiresAt } = verified;
  const [at, source] = [ctx.now(), sourceOf(publisher, claims)];
  const hash = createHash("sha256").update(`${issuer}\n${jti}`).digest("base64url");
  const { repositoryId, ownerId } = idsOf(publisher, claims);
  await ctx.db.$transaction(async (tx) => {
    const used = await tx.usedIdToken.createMany({ data: { hash, expiresAt }, skipDuplicates: true });
    if (used.count === 0)
      throw new Refusal({ claim: "jti", expected: "one that was not used before", actual: jti }, { publisher });
    const unchanged = { repositoryId: publisher.repositoryId, ownerId: publisher.ownerId };
    const { count } = await tx.publisher.updateMany({
      where: { id, OR: [unchanged, { repositoryId, ownerId }] },
      data: { repositoryId, ownerId, lastUsedAt: at },
    });
    if (count === 0)
      throw new Refusal(
        { claim: "repository_id", expected: "that of the first use", actual: repositoryId },
        { publisher },
      );
    const actor: Operator = { actor: `publisher:${id}`, accountId: null, source: caller };
    const details = { name, product, channel, ...source };
    await recordOperatorEvent(tx, at, actor, { type: "publisher_token_issued", target: `publisher:${id}`, details });
  });
  const payload = { publisher: id, source, until: at.getTime() + ACCESS_TOKEN_SECONDS * 1000 };
  const options = { purpose: PURPOSE, ttlSeconds: ACCESS_TOKEN_SECONDS };
  const token = `${PREFIX}${await encryptToken(ctx.config.secrets, payload, options)}`;
  return { token, expiresInSeconds: ACCESS_TOKEN_SECONDS, publisher: { id, name, product, channel, source } };
}

/** Logs and records why a token is refused, and counts it against the caller. Returns the error for the caller. */
async function refuse(ctx: Deps, refusal: Refusal, claims: JWTPayload, caller: Caller): Promise<AppError> {
  const { difference, publisher, cause } = refusal;
  const id = newId();
  const said = ["iss", "sub", "repository", "project_path", "ref", "ref_path", "sha", "run_id", "job_id"]
    .filter((name) => claims[name] !== undefined)
    .map((name) => [name, shorten(shown(claims[name]))] as const);
  const details = { ...shortened(difference), publisher: publisher?.id ?? null, token: Object.fromEntries(said) };
  ctx.log.warn(
    { ...details, refusalId: id, err: cause, network: networkOf(caller.ip) },
    "the ID token of a CI job was refused",
  );
  await ctx.limits.consume("oauthTokenByIp", caller.ip);
  // Anybody can send tokens without a valid signature, and many can have valid ones of a public issuer.
  if (difference.claim !== SIGNATURE && difference.claim !== "iss") await recordRefusal(ctx, id, details, caller);
  return new AppError("invalid_id_token", {
    detail: `The ID token was not accepted. The service's operators can look up why: ${id}.`,
  });
}

function shortened({ claim, expected, actual }: Difference): Difference {
  return { claim: shorten(claim), expected: shorten(expected), actual: actual === null ? null : shorten(actual) };
}

/** Any value of a claim as text. */
const shown = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "none"));

const shorten = (text: string) => toStorableText(text.slice(0, MAX_TEXT_LENGTH));

async function recordRefusal(ctx: Deps, id: string, details: EventDetails, source: Caller) {
  const isRecorded = await ctx.limits.consume("publisherRefusals", "all").then(
    () => true,
    () => false,
  );
  if (!isRecorded) return;
  const actor: Operator = { actor: "service", accountId: null, source };
  const event = { type: "publisher_refused", target: `refusal:${id}`, details } as const;
  await ctx.db.$transaction((tx) => recordOperatorEvent(tx, ctx.now(), actor, event));
}

/** Whether a credential begins like the access token of a CI job. */
export const isJobAccessToken = (token: string): boolean => token.startsWith(PREFIX);

/** RFC 6750, section 3.1. */
const INVALID_TOKEN = { "WWW-Authenticate": 'Bearer realm="homeport", error="invalid_token"' };

/** Authenticates a CI job by its access token. @throws AppError unauthenticated; rate_limited for many invalid ones */
export async function authenticateJob(deps: Deps, token: string, network: string): Promise<PublisherPrincipal> {
  const payload = (await decryptToken(deps.config.secrets, token.slice(PREFIX.length), PURPOSE)) ?? {};
  const {
    publisher: id,
    source,
    until,
  } = payload as { publisher?: string; source?: BuildSource | null; until?: number };
  const isValid = id !== undefined && (until ?? 0) > deps.now().getTime();
  const row = isValid ? await deps.db.publisher.findUnique({ where: { id } }) : null;
  if (row === null) {
    await deps.limits.consume("apiKeyByIp", network);
    const detail = "The access token has expired, or its publisher was removed.";
    throw new AppError("unauthenticated", { detail, headers: INVALID_TOKEN });
  }
  const { name, product, channel } = describe(row);
  return { publisher: { id: row.id, name, product, channel, source: source ?? null } };
}
