import type { Context } from "../../context";
import { networkOf } from "../../platform/audit/security-events";
import type { Prisma } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import { consumeEmailLimit } from "../limits/consume-email-limit";
import { clientKeys, recognizedClientCondition } from "../limits/recognized-clients";
import { clientName, UNKNOWN_CLIENT } from "./client-name";
import type { Transport } from "./sessions";

type Deps = Pick<Context, "db" | "limits" | "now">;
type Owner = { id: string; email: string };

/** How long after its creation an account's first session is expected: as long as the account may stay unverified. */
const FIRST_SIGN_IN_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * An SQL condition: the account recognizes the client that signs in. A browser is recognized by its cookie alone, since
 * others may share its network; a client without cookies by its network.
 */
export async function recognizedSignInCondition(
  ctx: Pick<Deps, "limits" | "now">,
  { email }: Owner,
  transport: Transport,
  caller: Caller,
): Promise<Prisma.Sql> {
  const { device, network } = await clientKeys(ctx, email, caller);
  return recognizedClientCondition(transport === "cookie" ? device : network, ctx.now());
}

/**
 * The data of the email about a sign-in from an unrecognized client; null if no email is due: the client is recognized,
 * this is the account's first sign-in, or the limit for these emails is reached. Only a verified email is sent a name
 * that the client chose, so that nobody sends texts of their own to strangers.
 */
export async function newSignInEmail(
  ctx: Deps,
  account: Owner,
  { recognizedCondition, deviceName }: { recognizedCondition: Prisma.Sql; deviceName: string | null },
  caller: Caller,
): Promise<{ client: string | null; network: string | null; at: string } | null> {
  const at = ctx.now();
  const [row] = await ctx.db.$queryRaw<{ isNew: boolean; isVerified: boolean }[]>`
    SELECT NOT ${recognizedCondition} AND ("createdAt" < ${new Date(at.getTime() - FIRST_SIGN_IN_MS)}::timestamptz
        OR EXISTS (SELECT FROM "Session" WHERE "accountId" = ${account.id}::uuid)) AS "isNew",
      "emailVerifiedAt" IS NOT NULL AS "isVerified"
    FROM "Account" WHERE "id" = ${account.id}::uuid`;
  if (!row?.isNew || !(await consumeEmailLimit(ctx, "signIn", account.email, caller.ip))) return null;
  const client = clientName(row.isVerified ? deviceName : null, caller.userAgent);
  return { client: client === UNKNOWN_CLIENT ? null : client, network: networkOf(caller.ip), at: at.toISOString() };
}
