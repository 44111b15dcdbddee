import { setRole } from "@/lib/admin/accounts";
import { createKey, listKeys } from "@/lib/admin/keys/keys";
import { type CreatedKey, NewKey } from "@/lib/admin/keys/schema";
import { COMMAND_LINE } from "@/lib/audit/operator-events";
import type { AccountRole } from "@/lib/db/generated/client";
import { newAccount, type TestAccount } from "../accounts";
import { ctx } from "../context";

/** An account with a role, signed in with a bearer token. */
export async function accountWithRole(role: AccountRole): Promise<TestAccount> {
  const account = await newAccount();
  await setRole(ctx(), account.id, role);
  return account;
}

/** An API key, as the command line creates it. */
export function newKey(fields: Partial<NewKey> = {}): Promise<CreatedKey> {
  const operator = { actor: "operator", accountId: null, source: COMMAND_LINE } as const;
  return createKey(ctx(), operator, { ...NewKey.parse({ name: "CI", scopes: ["releases:write"] }), ...fields });
}

/** The state of a key. */
export async function statusOf(id: string): Promise<string | undefined> {
  const { keys } = await listKeys(ctx(), { limit: 200 });
  return keys.find((key) => key.id === id)?.status;
}
