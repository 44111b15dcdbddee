import { AccountStep } from "../account/account-step";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";
import { textsOf, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: {
    title: "Confirm your new email",
    intro: (email: string) =>
      `You are signed in as ${email}. From now on you will sign in with the email that got the link.`,
    warning: "Continue only if you asked for this change yourself.",
    submit: "Change email",
  },
  de: {
    title: "Neue E-Mail-Adresse bestätigen",
    intro: (email) =>
      `Sie sind als ${email} angemeldet. Von nun an melden Sie sich mit der Adresse an, die den Link bekommen hat.`,
    warning: "Fahren Sie nur fort, wenn Sie diese Änderung selbst veranlasst haben.",
    submit: "E-Mail-Adresse ändern",
  },
});

export const generateMetadata = titleOf(TEXTS);

/** The page of the link to the new email. Opening it changes nothing, because mail scanners follow links. */
export default async function Page(props: PageProps) {
  const { user } = await requireVisitor("/email-change");
  const { formErrors } = await queryOf(props);
  const texts = await textsOf(TEXTS);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(user.email)}</p>
      <p>{texts.warning}</p>
      <Form action="/forms/email-change" flash={await flashOf(formErrors)}>
        <TokenField />
        <button type="submit">{texts.submit}</button>
      </Form>
    </AccountStep>
  );
}
