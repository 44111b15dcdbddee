import { notFound } from "next/navigation";
import { providerTitle } from "@/lib/auth/sign-in-providers/providers";
import { Form } from "../../components/form";
import { type PageProps, readPage } from "../../components/page-props";
import { titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep, Reauthentication } from "../account-step";
import { requireRecentVisitor } from "../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Remove a sign-in provider",
    remove: (name: string) => `Remove ${name}`,
    intro: (email: string, name: string) =>
      `You will no longer be able to sign in to ${email} with ${name}. All other sessions will be signed out.`,
  },
  de: {
    title: "Anbieter entfernen",
    remove: (name) => `${name} entfernen`,
    intro: (email, name) =>
      `Sie können sich dann nicht mehr mit ${name} bei ${email} anmelden. Alle anderen Sitzungen werden beendet.`,
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { query, flash, texts } = await readPage(props, TEXTS);
  const { id } = query;
  const identityId = String(id ?? flash?.values.identityId ?? "");
  const page = `/account/unlink?${new URLSearchParams({ id: identityId })}`;
  const { user, hasPassword, identities } = await requireRecentVisitor(page, { asksForPassword: true });
  const identity = identities.find((linked) => linked.id === identityId);
  if (!identity) notFound();
  const name = providerTitle(identity.provider);
  return (
    <AccountStep title={texts.remove(name)}>
      <p>{texts.intro(user.email, name)}</p>
      <Form action="/forms/account/unlink" flash={flash}>
        <input type="hidden" name="identityId" value={identity.id} />
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account" />
        <button type="submit" className="danger">
          {texts.remove(name)}
        </button>
      </Form>
    </AccountStep>
  );
}
