import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import { flashOf, type PageProps, queryOf } from "../../parts/search-params";
import { StoreNote } from "../../parts/store-note";
import { Heading } from "../heading";
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
        {hasPassword ? (
          <>
            <input hidden readOnly name="username" autoComplete="username" value={user.email} />
            <Field name="password" label="Your password" type="password" required autoComplete="current-password" />
          </>
        ) : (
          <p>
            You have no password here. If you signed in more than ten minutes ago,{" "}
            <a href="/sign-in?callbackUrl=/account/delete">sign in again</a> first.
          </p>
        )}
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
