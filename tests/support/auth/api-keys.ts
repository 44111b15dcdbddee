import { setRole } from "@/lib/accounts/admin/change-account";
import { createKey, listKeys } from "@/lib/auth/api-keys/keys";
import { type CreatedKey, NewKey } from "@/lib/auth/api-keys/schema";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import type { AccountRole } from "@/lib/platform/db/generated/client";
import type { Operator } from "@/lib/principal";
import { newAccount, type TestAccount } from "../accounts";
import { ctx } from "../context";

/** Who acts at the command line. */
export const OPERATOR: Operator = { actor: "operator", accountId: null, source: COMMAND_LINE };

/** An account with a role, signed in with a bearer token. */
export async function accountWithRole(role: AccountRole): Promise<TestAccount> {
  const account = await newAccount();
  await setRole(ctx(), OPERATOR, account.id, { role });
  return account;
}

/** An API key, as the command line creates it. */
export function newKey(fields: Partial<NewKey> = {}): Promise<CreatedKey> {
  return createKey(ctx(), OPERATOR, { ...NewKey.parse({ name: "CI", scopes: ["releases:write"] }), ...fields });
}

export async function statusOf(id: string): Promise<string | undefined> {
  const { keys } = await listKeys(ctx(), { limit: 200 });
  return keys.find((key) => key.id === id)?.status;
}
