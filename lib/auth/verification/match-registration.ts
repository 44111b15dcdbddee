import type { Context } from "../../context";
import { AppError } from "../../errors";
import { passwordMatches } from "../passwords/password-hash";
import { hashVerificationToken, type MatchedRegistration } from "./email-verification";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** Passwords that are compared at most, the newest claims first. */
const MAX_COMPARISONS = 10;

/** What the holder of a mailed link proves beside the mailbox: a password, or the sign-in at a provider. */
export type RegistrationProof = { password?: string; identity?: { issuer: string; subject: string } };

/**
 * Finds the claim to an address that the holder of a mailed token made: the one whose password they know, or the
 * identity with which this browser signed in. Whoever else registered the address, or was first, gets nothing by
 * the owner's click. null where the token is not valid, whatever is wrong with it.
 * @throws AppError validation_failed without either, invalid_credentials where no claim has this password,
 *   rate_limited, overloaded
 */
export async function matchRegistration(
  ctx: Deps,
  token: string,
  { password, identity }: RegistrationProof,
  address: string,
): Promise<MatchedRegistration | null> {
  await ctx.limits.consume("verificationByAddress", address);
  const row = await ctx.db.verificationToken.findUnique({
    where: {
      tokenHash: hashVerificationToken(token, ctx.config.secret),
      expiresAt: { gt: ctx.now() },
      account: { emailVerifiedAt: null },
    },
    include: { account: { include: { identities: true } } },
  });
  if (!row) return null;
  if (password === undefined) {
    const own = row.account.identities.find(
      ({ issuer, subject }) => issuer === identity?.issuer && subject === identity.subject,
    );
    if (own) return { identity: { id: own.id } };
    const errors = [{ pointer: "/password", code: "required", detail: "Is required" }];
    throw new AppError("validation_failed", { errors });
  }
  for (const registration of await registrationsOf(ctx, row)) {
    if (await passwordMatches(ctx, password, registration.passwordHash)) return { registration };
  }
  throw new AppError("invalid_credentials");
}

type Claim = { id: string; passwordHash: string | null; name: string | null };
type Account = { id: string; passwordHash: string | null; name: string | null };

/** What the address was registered with: first the claim whose link was followed, then the account's own, then others. */
async function registrationsOf({ db, now }: Deps, followed: Claim & { account: Account }) {
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
