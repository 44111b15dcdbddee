import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import { flashOf, type PageProps, queryOf } from "../../parts/search-params";
import { StoreNote } from "../../parts/store-note";
import { Heading } from "../heading";
import { Reauthentication } from "../reauthentication";
import { requireVisitor } from "../signed-in";

export const metadata = { title: "Delete your account", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { user, hasPassword } = await requireVisitor("/account/delete");
  const { again } = await queryOf(props);
  return (
    <div className="narrow">
      <Heading title="Delete your account" />
      <p>
        This deletes {user.email} with its sessions, devices and history, at once and for good. You may want to{" "}
        <a href="/api/auth/account/export">export your data</a> first.
      </p>
      <StoreNote />
      <Form action="/forms/account/delete" trouble={await flashOf(again)}>
        <Reauthentication email={user.email} hasPassword={hasPassword} signInAgainAt="/account/delete" />
        <Field
          name="confirm"
          label="Type DELETE to confirm"
          required
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
        />
        <button type="submit" className="danger">
          Delete my account
        </button>
      </Form>
      <p className="aside">
        <a href="/account">Keep it, and go back</a>
      </p>
    </div>
  );
}
