import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { AccountHeading } from "../account-heading";
import { Reauthentication } from "../reauthentication";
import { requireRecentVisitor } from "../require-visitor";

export const metadata = { title: "Change password", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { user, hasPassword } = await requireRecentVisitor("/account/password", { asksForPassword: true });
  const { formErrors } = await queryOf(props);
  const minLength = pageContext().config.AUTH_PASSWORD_MIN;
  return (
    <div className="narrow">
      <AccountHeading title={hasPassword ? "Change password" : "Set a password"} />
      <Form action="/forms/account/password" flash={await flashOf(formErrors)}>
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/password" />
        <Field
          name="newPassword"
          label="New password"
          hint={`At least ${minLength} characters. A few random words are easy to remember.`}
          type="password"
          required
          autoComplete="new-password"
        />
        <label className="check">
          <input type="checkbox" name="signOutOthers" defaultChecked /> Sign out all other sessions
        </label>
        <button type="submit">{hasPassword ? "Change password" : "Set password"}</button>
      </Form>
      {hasPassword && (
        <p className="aside">
          Forgot your password? <a href="/forgot">Reset it</a>
        </p>
      )}
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
