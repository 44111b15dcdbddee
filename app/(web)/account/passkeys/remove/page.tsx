import { Form } from "../../../components/form";
import { flashOf, type PageProps, queryOf } from "../../../components/page-props";
import { textsOf, titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AccountStep } from "../../account-step";
import { requireRecentVisitor } from "../../require-visitor";
import { findOwnPasskey } from "../find-own-passkey";

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
  const { formErrors, id = "" } = await queryOf(props);
  const visitor = await requireRecentVisitor(`/account/passkeys/remove?${new URLSearchParams({ id })}`);
  const flash = await flashOf(formErrors);
  const { id: passkeyId, name } = await findOwnPasskey(visitor, id);
  const texts = await textsOf(TEXTS);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(visitor.user.email, name)}</p>
      <Form action="/forms/account/passkey/remove" flash={flash}>
        <input type="hidden" name="id" value={passkeyId} />
        <button type="submit" className="danger">
          {texts.submit}
        </button>
      </Form>
    </AccountStep>
  );
}
