import { Field } from "../../../components/field";
import { Form } from "../../../components/form";
import { flashOf, type PageProps, queryOf } from "../../../components/page-props";
import { AccountHeading } from "../../account-heading";
import { requireVisitor } from "../../require-visitor";
import { findOwnPasskey } from "../find-own-passkey";

export const metadata = { title: "Rename a passkey", robots: { index: false } };

export default async function Page(props: PageProps) {
  const visitor = await requireVisitor("/account");
  const { formErrors, id } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const passkey = await findOwnPasskey(visitor, id ?? flash?.values.id);
  return (
    <div className="narrow">
      <AccountHeading title="Rename a passkey" />
      <Form action="/forms/account/passkey/rename" flash={flash}>
        <input type="hidden" name="id" value={passkey.id} />
        <Field name="name" label="Name" required maxLength={64} autoComplete="off" defaultValue={passkey.name} />
        <button type="submit">Rename</button>
      </Form>
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
