import { pageContext } from "@/lib/auth/visitor";
import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { COMMON } from "../../language/common-texts";
import { textsOf, titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep } from "../account-step";
import { Reauthentication } from "../reauthentication";
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
  const { formErrors } = await queryOf(props);
  const minLength = pageContext().config.AUTH_PASSWORD_MIN;
  const [texts, common] = [await textsOf(TEXTS), await textsOf(COMMON)];
  return (
    <AccountStep title={hasPassword ? texts.title : texts.setTitle}>
      <Form action="/forms/account/password" flash={await flashOf(formErrors)}>
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/password" />
        <Field
          name="newPassword"
          label={common.newPassword}
          hint={common.passwordHint(minLength)}
          type="password"
          required
          autoComplete="new-password"
        />
        <label className="check">
          <input type="checkbox" name="signOutOthers" defaultChecked /> {texts.signOutOthers}
        </label>
        <button type="submit">{hasPassword ? texts.title : texts.set}</button>
      </Form>
      {hasPassword && <p className="aside">{texts.forgot}</p>}
    </AccountStep>
  );
}
