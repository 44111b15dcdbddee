import { Form } from "../../../components/form";
import { flashOf, type PageProps, queryOf } from "../../../components/page-props";
import { AccountHeading } from "../../account-heading";
import { requireRecentVisitor } from "../../require-visitor";
import { findOwnPasskey } from "../find-own-passkey";

export const metadata = { title: "Remove a passkey", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { formErrors, id = "" } = await queryOf(props);
  const visitor = await requireRecentVisitor(`/account/passkeys/remove?${new URLSearchParams({ id })}`);
  const flash = await flashOf(formErrors);
  const { id: passkeyId, name } = await findOwnPasskey(visitor, id);
  return (
    <div className="narrow">
      <AccountHeading title="Remove a passkey" />
      <p>
        You will no longer be able to sign in to {visitor.user.email} with “{name}”. All other sessions will be signed
        out. Your device may still offer the passkey; you can delete it there.
      </p>
      <Form action="/forms/account/passkey/remove" flash={flash}>
        <input type="hidden" name="id" value={passkeyId} />
        <button type="submit" className="danger">
          Remove passkey
        </button>
      </Form>
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
