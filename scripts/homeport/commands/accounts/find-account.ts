import type { AccountSummary } from "../../../../lib/accounts/admin/schema";
import { CodedError } from "../../../command-line";
import type { AdminApi, Json } from "../../transport/admin-api";

export const ACCOUNTS = "/api/admin/accounts";
/** An id of the billing provider that looks like an email may find accounts before the email does. */
const MAX_FOUND = 200;

/** Finds an account by its id or its email. @throws CodedError not_found */
export async function findAccount(api: AdminApi, idOrEmail: string): Promise<Json<AccountSummary>> {
  const query = idOrEmail.trim().toLowerCase();
  const found = await api.list<Json<AccountSummary>>(ACCOUNTS, "accounts", { query }, MAX_FOUND);
  const account = found.find(({ id, email }) => id === query || email === query);
  if (!account) throw new CodedError("not_found", `There is no account ${idOrEmail}.`);
  return account;
}
