import { type PageProps, readPage } from "../../../components/page-props";
import { ResumableForm } from "../../../confirm/resume-form";
import { titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AccountStep } from "../../account-step";
import { findOwnPasskey, requireRecentVisitor } from "../../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Remove a passkey",
    intro: (email: string, name: string) =>
      `You will no longer be able to sign in to ${email} with “${name}”. All other sessions will be signed out. Your device may still offer the passkey; you can delete it there.`,
    submit: "Remove passkey",
  },
  de: {
    title: "Passkey entfernen",
    intro: (email, name) =>
      `Sie können sich dann nicht mehr mit „${name}“ bei ${email} anmelden. Alle anderen Sitzungen werden beendet. Vielleicht bietet Ihr Gerät den Passkey weiter an; Sie können ihn dort löschen.`,
    submit: "Passkey entfernen",
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { query, flash, texts } = await readPage(props, TEXTS);
  const { id = "" } = query;
  const visitor = await requireRecentVisitor(`/account/passkeys/remove?${new URLSearchParams({ id })}`);
  const { id: passkeyId, name } = await findOwnPasskey(visitor, id);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(visitor.user.email, name)}</p>
      <ResumableForm action="/forms/account/passkey/remove" flash={flash}>
        <input type="hidden" name="id" value={passkeyId} />
        <button type="submit" className="danger">
          {texts.submit}
        </button>
      </ResumableForm>
    </AccountStep>
  );
}
