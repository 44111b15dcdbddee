import { pageContext } from "@/lib/auth/visitor";
import { PasswordField } from "../../components/field";
import { Form } from "../../components/form";
import { type PageProps, readPage } from "../../components/page-props";
import { titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep, Reauthentication } from "../account-step";
import { requireRecentVisitor } from "../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Change password",
    setTitle: "Set a password",
    set: "Set password",
    signOutOthers: "Sign out all other sessions",
    forgot: (
      <>
        Forgot your password? <a href="/forgot">Reset it</a>
      </>
    ),
  },
  de: {
    title: "Passwort ändern",
    setTitle: "Passwort festlegen",
    set: "Passwort festlegen",
    signOutOthers: "Alle anderen Sitzungen beenden",
    forgot: (
      <>
        Passwort vergessen? <a href="/forgot">Setzen Sie es zurück</a>
      </>
    ),
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { user, hasPassword } = await requireRecentVisitor("/account/password", { asksForPassword: true });
  const { flash, texts, common } = await readPage(props, TEXTS);
  const minLength = pageContext().config.AUTH_PASSWORD_MIN;
  return (
    <AccountStep title={hasPassword ? texts.title : texts.setTitle}>
      <Form action="/forms/account/password" flash={flash}>
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/password" />
        <PasswordField name="newPassword" label={common.newPassword} hint={common.passwordHint(minLength)} isNew />
        <label className="check">
          <input type="checkbox" name="signOutOthers" defaultChecked /> {texts.signOutOthers}
        </label>
        <button type="submit">{hasPassword ? texts.title : texts.set}</button>
      </Form>
      {hasPassword && <p className="aside">{texts.forgot}</p>}
    </AccountStep>
  );
}
