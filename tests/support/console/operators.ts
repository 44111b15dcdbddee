import { newAccount, type TestAccount } from "../accounts";
import { accountWithRole } from "../auth/api-keys";
import { cookiesOf, submit } from "../web/forms";

/** An account with a role, signed in by the form: `cookie` is its session. */
export async function operatorWithRole(role: "user" | "support" | "admin"): Promise<TestAccount & { cookie: string }> {
  const account = role === "user" ? await newAccount() : await accountWithRole(role);
  return { ...account, cookie: cookiesOf(await submit("sign-in", account)) };
}
