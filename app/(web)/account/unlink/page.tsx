import { notFound } from "next/navigation";
import { providerTitle } from "@/lib/auth/oauth/providers";
import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { AccountHeading } from "../account-heading";
import { Reauthentication } from "../reauthentication";
import { requireRecentVisitor } from "../require-visitor";

export const metadata = { title: "Remove a sign-in provider", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { formErrors, id } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const identityId = String(id ?? flash?.values.identityId ?? "");
  const page = `/account/unlink?${new URLSearchParams({ id: identityId })}`;
  const { user, hasPassword, identities } = await requireRecentVisitor(page, { asksForPassword: true });
  const identity = identities.find((linked) => linked.id === identityId);
  if (!identity) notFound();
  const name = providerTitle(identity.provider);
  return (
    <div className="narrow">
      <AccountHeading title={`Remove ${name}`} />
      <p>
        You will no longer be able to sign in to {user.email} with {name}. All other sessions will be signed out.
      </p>
      <Form action="/forms/account/unlink" flash={flash}>
        <input type="hidden" name="identityId" value={identity.id} />
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account" />
        <button type="submit" className="danger">
          Remove {name}
        </button>
      </Form>
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
