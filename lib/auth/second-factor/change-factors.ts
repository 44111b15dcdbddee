import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { decryptSecret, encryptSecret } from "../../platform/keys/stored-secrets";
import type { Caller, Principal } from "../../principal";
import { lockOwnAccount } from "../account-checks";
import { withSecondFactor } from "../sessions/authentication";
import { requireStepUp, type StepUpProof } from "../step-up";
import { hasSecondFactor, removeTotpAndRecoveryCodes } from "./factors";
import { replaceRecoveryCodes } from "./recovery-codes";
import { newTotpSecret, timeStepOf, totpPurpose, totpUri } from "./totp";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "hasher" | "limits" | "now" | "removeDevices">;

/** The modules around a code that have to stay empty (ISO/IEC 18004, 6.3.8). */
const QUIET_ZONE = 4;

/** Encodes a text as a QR code: an SVG document, black on white whatever the page's colors are. */
async function qrCodeSvg(text: string): Promise<string> {
  // Loaded at the first use, because few starts need it at once.
  const { default: encodeQR } = await import("qr");
  const rows = encodeQR(text, "raw", { ecc: "medium", border: QUIET_ZONE });
  const squares = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  const size = rows.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">`,
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${squares.join("")}"/></svg>`,
  ].join("");
}

const ENROLLMENT_TTL_MS = 10 * 60 * 1000;

/**
 * Starts to add an authenticator app: stores a new secret, which has no effect until `confirmTotp`. Each call creates
 * its own secret, so that two tabs do not disturb each other.
 * @throws AppError factor_exists; reauthentication_required; rate_limited
 */
export async function startTotp(ctx: Deps, principal: Principal, proof: StepUpProof, caller: Caller) {
  const { account, session } = principal;
  await requireStepUp(ctx, principal, proof, caller);
  await ctx.limits.consume("enrollmentByAccount", account.id);
  await requireNoTotp(ctx.db, account.id);
  const secret = await newTotpSecret();
  const createdAt = ctx.now();
  const expiresAt = new Date(createdAt.getTime() + ENROLLMENT_TTL_MS);
  const stored = await encryptSecret(ctx, totpPurpose(account.id), secret);
  const data = { accountId: account.id, sessionId: session.id, secret: stored, createdAt, expiresAt };
  const { id } = await ctx.db.totpFactor.create({ data });
  return describe(ctx, account, id, secret, expiresAt);
}

/** An enrollment that this session has started; null if there is none, or it has expired or is complete. */
export async function readEnrollment(ctx: Deps, { account, session }: Principal, id: string) {
  const row = await findPending(ctx.db, ctx.now(), { accountId: account.id, sessionId: session.id, id });
  if (!row) return null;
  const secret = await decryptSecret(ctx, totpPurpose(account.id), row.secret);
  return describe(ctx, account, id, secret, row.expiresAt);
}

/**
 * Adds an authenticator app, once its first code is verified. The session that started the enrollment confirms it, and
 * has then proved two factors. Returns the recovery codes, which cannot be retrieved again.
 * @throws AppError invalid_code, enrollment_expired; factor_exists if another tab was faster; unauthenticated if the session
 *   ended meanwhile
 */
export async function confirmTotp(
  ctx: Deps,
  principal: Principal,
  { id, code }: { id: string; code: string },
  caller: Caller,
): Promise<{ createdAt: Date; recoveryCodes: string[] }> {
  const now = ctx.now();
  const { account, session } = principal;
  const pending = { accountId: account.id, sessionId: session.id, id };
  const row = await findPending(ctx.db, now, pending);
  if (!row) throw new AppError("enrollment_expired");
  const secret = await decryptSecret(ctx, totpPurpose(account.id), row.secret);
  const lastStep = await timeStepOf(code, secret, now);
  if (lastStep === null) throw new AppError("invalid_code");
  const recoveryCodes = await ctx.db.$transaction(async (tx) => {
    // Of two tabs that confirm at once, the second waits here.
    await lockOwnAccount(tx, principal);
    await requireNoTotp(tx, account.id);
    const data = { confirmedAt: now, expiresAt: null, lastStep, lastUsedAt: now };
    const { count } = await tx.totpFactor.updateMany({ where: { ...pending, confirmedAt: null }, data });
    if (count === 0) throw new AppError("enrollment_expired");
    await tx.totpFactor.deleteMany({ where: { accountId: account.id, confirmedAt: null } });
    await raiseSession(tx, now, session);
    await recordSecurityEvent(tx, now, account.id, "totp_added", caller);
    await ctx.emails.enqueue(tx, "factor_added", account.email, { factor: "totp" });
    return replaceRecoveryCodes(tx, now, account.id);
  });
  ctx.emails.wake();
  return { createdAt: now, recoveryCodes };
}

async function requireNoTotp(tx: Tx, accountId: string): Promise<void> {
  const confirmed = await tx.totpFactor.findFirst({ where: { accountId, confirmedAt: { not: null } } });
  if (confirmed) throw new AppError("factor_exists");
}

async function findPending(tx: Tx, now: Date, pending: { accountId: string; sessionId: string; id: string }) {
  const row = await tx.totpFactor.findFirst({ where: { ...pending, confirmedAt: null, expiresAt: { gt: now } } });
  return row?.expiresAt ? { secret: row.secret, expiresAt: row.expiresAt } : null;
}

/** Otherwise the session could not manage the factor that it has just added. */
async function raiseSession(tx: Tx, now: Date, session: Principal["session"]): Promise<void> {
  const data = withSecondFactor(session, ["otp"], now);
  await tx.session.updateMany({ where: { id: session.id, revokedAt: null }, data });
}

/** Authenticator apps list the account under the service's host name. A port would end the name in some of them. */
async function describe(
  { config }: Pick<Deps, "config">,
  { email }: Principal["account"],
  id: string,
  secret: string,
  expiresAt: Date,
) {
  const uri = await totpUri(secret, { issuer: new URL(config.baseUrl).hostname, email });
  return { id, secret, uri, qrCode: await qrCodeSvg(uri), expiresAt };
}

/**
 * Removes the caller's authenticator app, with the recovery codes that replace it.
 * @throws AppError not_found, reauthentication_required, rate_limited; unauthenticated if the session ended meanwhile
 */
export async function removeTotp(ctx: Deps, principal: Principal, proof: StepUpProof, caller: Caller) {
  const { id, email } = principal.account;
  await requireStepUp(ctx, principal, proof, caller);
  await ctx.db.$transaction(async (tx) => {
    await lockOwnAccount(tx, principal);
    if (!(await removeTotpAndRecoveryCodes(tx, id))) throw new AppError("not_found");
    await recordSecurityEvent(tx, ctx.now(), id, "totp_removed", caller);
    await ctx.emails.enqueue(tx, "factor_removed", email, { factor: "totp" });
  });
  ctx.emails.wake();
}

/**
 * Replaces the caller's recovery codes. Returns the new ones, which cannot be retrieved again.
 * @throws AppError no_second_factor, reauthentication_required, rate_limited; unauthenticated if the session ended meanwhile
 */
export async function renewRecoveryCodes(ctx: Deps, principal: Principal, proof: StepUpProof, caller: Caller) {
  const { id, email } = principal.account;
  await requireStepUp(ctx, principal, proof, caller);
  const codes = await ctx.db.$transaction(async (tx) => {
    // Of two simultaneous calls, the codes of the second are valid.
    await lockOwnAccount(tx, principal);
    if (!(await hasSecondFactor(tx, id))) throw new AppError("no_second_factor");
    await recordSecurityEvent(tx, ctx.now(), id, "recovery_codes_renewed", caller);
    await ctx.emails.enqueue(tx, "factor_added", email, { factor: "recovery_codes" });
    return replaceRecoveryCodes(tx, ctx.now(), id);
  });
  ctx.emails.wake();
  return codes;
}
