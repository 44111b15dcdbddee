import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { StoreBillingNote } from "../../components/store-billing-note";
import { AccountHeading } from "../account-heading";
import { Reauthentication } from "../reauthentication";
import { requireRecentVisitor } from "../require-visitor";

export const metadata = { title: "Delete account", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { user, hasPassword, identities } = await requireRecentVisitor("/account/delete", { asksForPassword: true });
  const { formErrors } = await queryOf(props);
  return (
    <div className="narrow">
      <AccountHeading title="Delete account" />
      <p>
        This permanently deletes {user.email} with all of its sessions, devices and history. You can{" "}
        <a href="/account/export">export your data</a> first.
      </p>
      {identities.some((identity) => identity.isRevokedOnDeletion) && (
        <p>We also ask Apple to end this app’s access to your Apple Account.</p>
      )}
      <StoreBillingNote />
      <Form action="/forms/account/delete" flash={await flashOf(formErrors)}>
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/delete" />
        <Field
          name="confirm"
          label="Type DELETE to confirm"
          required
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
        />
        <button type="submit" className="danger">
          Delete account
        </button>
      </Form>
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
