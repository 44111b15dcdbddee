import type { Context } from "../../context";
import { AppError } from "../../errors";
import { isPasswordCorrect } from "../passwords/password-hash";
import { type MatchedRegistration, verificationHashes } from "./email-verification";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** The maximum number of passwords that one call compares. */
const MAX_COMPARISONS = 10;

/** What the caller sends with an emailed token: a password, or the identity that this browser signed in with. */
export type RegistrationProof = { password?: string; identity?: { issuer: string; subject: string } };

/**
 * Finds the registration that the holder of an emailed token made, by its password or by the provider's identity. So
 * other people who registered the same email gain nothing when its owner follows the link. null if the token is
 * invalid, used or expired.
 * @throws AppError validation_failed without proof, invalid_credentials if no registration has this password,
 *   rate_limited, overloaded
 */
export async function matchRegistration(
  ctx: Deps,
  token: string,
  { password, identity }: RegistrationProof,
  ip: string,
): Promise<MatchedRegistration | null> {
  await ctx.limits.consume("verificationByIp", ip);
  const row = await ctx.db.verificationToken.findFirst({
    where: {
      tokenHash: { in: verificationHashes(ctx.config, token) },
      expiresAt: { gt: ctx.now() },
      account: { emailVerifiedAt: null },
    },
    include: { account: { include: { identities: true } } },
  });
  if (!row) return null;
  const { tokenHash } = row;
  if (password === undefined) {
    const own = row.account.identities.find(
      ({ issuer, subject }) => issuer === identity?.issuer && subject === identity.subject,
    );
    if (own) return { tokenHash, identity: { id: own.id } };
    const errors = [{ pointer: "/password", code: "required", detail: "Is required" }];
    throw new AppError("validation_failed", { errors });
  }
  for (const registration of await listRegistrations(ctx, row)) {
    if (await isPasswordCorrect(ctx, password, registration.passwordHash)) return { tokenHash, registration };
  }
  throw new AppError("invalid_credentials");
}

type StoredRegistration = { id: string; passwordHash: string | null; name: string | null };

/** The registrations of an email: that of the followed link, then the account's own, then the others, newest first. */
async function listRegistrations({ db, now }: Deps, followed: StoredRegistration & { account: StoredRegistration }) {
  const { account } = followed;
  const others = await db.verificationToken.findMany({
    where: { accountId: account.id, id: { not: followed.id }, expiresAt: { gt: now() }, passwordHash: { not: null } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: MAX_COMPARISONS,
  });
  return [followed, account, ...others]
    .flatMap(({ passwordHash, name }) => (passwordHash === null ? [] : [{ passwordHash, name }]))
    .slice(0, MAX_COMPARISONS);
}
