import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { type PageProps, readPage } from "../../components/page-props";
import { StoreBillingNote } from "../../components/store-billing-note";
import { titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep, Reauthentication } from "../account-step";
import { requireRecentVisitor } from "../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Delete account",
    intro: (email: string) => (
      <>
        This permanently deletes {email} with all of its sessions, devices and history. You can{" "}
        <a href="/account/export">export your data</a> first.
      </>
    ),
    apple: "We also ask Apple to end this app’s access to your Apple Account.",
    confirm: "Type DELETE to confirm",
  },
  de: {
    title: "Konto löschen",
    intro: (email) => (
      <>
        Das löscht {email} für immer, mit allen Sitzungen, Geräten und Einträgen. Sie können vorher{" "}
        <a href="/account/export">Ihre Daten exportieren</a>.
      </>
    ),
    apple: "Wir bitten außerdem Apple, den Zugang dieser App zu Ihrem Apple Account zu beenden.",
    confirm: "Geben Sie zur Bestätigung DELETE ein",
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { user, hasPassword, identities } = await requireRecentVisitor("/account/delete", { asksForPassword: true });
  const { flash, texts } = await readPage(props, TEXTS);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(user.email)}</p>
      {identities.some((identity) => identity.isRevokedOnDeletion) && <p>{texts.apple}</p>}
      <StoreBillingNote />
      <Form action="/forms/account/delete" flash={flash}>
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/delete" />
        <Field
          name="confirm"
          label={texts.confirm}
          required
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
        />
        <button type="submit" className="danger">
          {texts.title}
        </button>
      </Form>
    </AccountStep>
  );
}
