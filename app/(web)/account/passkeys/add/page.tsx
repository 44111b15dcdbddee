import { textsOf, titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AddPasskey } from "../../../passkeys/add-passkey";
import { AccountStep } from "../../account-step";
import { requireRecentVisitor } from "../../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Add a passkey",
    intro: (email: string) =>
      `Your browser asks where to store the passkey for ${email}: on this device, on a phone or on a security key.`,
  },
  de: {
    title: "Passkey hinzufügen",
    intro: (email) =>
      `Ihr Browser fragt, wo er den Passkey für ${email} aufbewahren soll: auf diesem Gerät, auf einem Telefon oder auf einem Sicherheitsschlüssel.`,
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page() {
  const { user } = await requireRecentVisitor("/account/passkeys/add");
  const texts = await textsOf(TEXTS);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(user.email)}</p>
      <AddPasskey />
    </AccountStep>
  );
}
