import { CommandError } from "../../../lib/errors";
import { isUuid } from "../../../lib/platform/db/ids";
import type { AdminApi } from "../transport/admin-api";

/** An id of the billing provider that looks like an email may find accounts before the email does. */
const MAX_FOUND = 200;

/** Finds an account by its id, its email or its id in another system. @throws CommandError not_found */
export async function findAccount(api: AdminApi, idOrEmail: string) {
  const query = idOrEmail.trim().toLowerCase();
  const found = await api.list("searchAccounts", "accounts", { query: { query } }, MAX_FOUND);
  const account =
    found.find(({ id, email }) => id === query || email === query) ?? (await findImported(api, idOrEmail));
  if (!account) throw new CommandError("not_found", `There is no account ${idOrEmail}.`);
  return account;
}

/** An id is taken as it is: a key for billing alone cannot search accounts. @throws CommandError not_found */
export async function accountIdOf(api: AdminApi, idOrEmail: string): Promise<string> {
  return isUuid(idOrEmail) ? idOrEmail : (await findAccount(api, idOrEmail)).id;
}

async function findImported(api: AdminApi, idOrEmail: string) {
  const [account] = await api.list("searchAccounts", "accounts", { query: { externalId: idOrEmail.trim() } }, 1);
  return account;
}
