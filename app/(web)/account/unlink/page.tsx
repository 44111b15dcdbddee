import { notFound } from "next/navigation";
import { providerTitle } from "@/lib/auth/oauth/providers";
import { Form } from "../../parts/form";
import { flashOf, type PageProps, queryOf } from "../../parts/search-params";
import { Heading } from "../heading";
import { Reauthentication } from "../reauthentication";
import { requireVisitor } from "../signed-in";

export const metadata = { title: "Remove a way to sign in", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { user, hasPassword, identities } = await requireVisitor("/account");
  const { again, id } = await queryOf(props);
  const flash = await flashOf(again);
  const identity = identities.find((linked) => linked.id === (id ?? flash?.values.identityId));
  if (!identity) notFound();
  const name = providerTitle(identity.provider);
  return (
    <div className="narrow">
      <Heading title={`Remove ${name}`} />
      <p>
        {name} will no longer sign in to {user.email}. You stay signed in here and are signed out everywhere else.
      </p>
      <Form action="/forms/account/unlink" trouble={flash}>
        <input type="hidden" name="identityId" value={identity.id} />
        <Reauthentication email={user.email} hasPassword={hasPassword} signInAgainAt="/account" />
        <button type="submit" className="danger">
          Remove {name}
        </button>
      </Form>
      <p className="aside">
        <a href="/account">Keep it, and go back</a>
      </p>
    </div>
  );
}
