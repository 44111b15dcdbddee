import { AuthorizationParameters, authorizationPage } from "@/lib/auth/authorization-server/authorization-request";
import { EmailProblem } from "../account/email-problem";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { COMMON } from "../language/common-texts";
import { textsOf, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";
import { findRequest } from "./find-authorization";

type User = { name: string | null; email: string };

const Who = ({ user: { name, email } }: { user: User }) => (
  <>
    <strong>{name ?? email}</strong>
    {name !== null && ` (${email})`}
  </>
);

const AUTHORIZE = defineTexts({
  en: {
    title: "Sign in to an app",
    heading: (app: string) => `Continue to ${app}`,
    intro: (app: string, user: User) => (
      <>
        <strong>{app}</strong> on this device will be signed in as <Who user={user} />. Continue only if you started
        this in {app}.
      </>
    ),
    allow: (name: string) => `Continue as ${name}`,
    otherAccount: "Use another account",
    invalidTitle: "This link does not work",
    invalid: "The app that sent you here is not registered, or its request is incomplete.",
    advice: "Go back to the app and try again. If it does not help, update the app.",
  },
  de: {
    title: "Bei einer App anmelden",
    heading: (app) => `Weiter zu ${app}`,
    intro: (app, user) => (
      <>
        <strong>{app}</strong> auf diesem Gerät wird als <Who user={user} /> angemeldet. Fahren Sie nur fort, wenn Sie
        das in {app} begonnen haben.
      </>
    ),
    allow: (name) => `Weiter als ${name}`,
    otherAccount: "Anderes Konto verwenden",
    invalidTitle: "Dieser Link funktioniert nicht",
    invalid: "Die App, die Sie hierher geschickt hat, ist nicht registriert, oder ihre Anfrage ist unvollständig.",
    advice:
      "Gehen Sie zurück zur App und versuchen Sie es noch einmal. Wenn das nicht hilft, aktualisieren Sie die App.",
  },
});

export const generateMetadata = titleOf(AUTHORIZE);

export default async function Page(props: PageProps) {
  const { formErrors, ...query } = await queryOf(props);
  const parameters = AuthorizationParameters.safeParse(query).data;
  const request = parameters && findRequest(parameters);
  if (!request) return <InvalidRequest />;
  const page = authorizationPage(parameters);
  const { user } = await requireVisitor(page);
  const { name } = request.client;
  const [texts, common] = [await textsOf(AUTHORIZE), await textsOf(COMMON)];
  return (
    <div className="narrow">
      <h1>{texts.heading(name)}</h1>
      <p>{texts.intro(name, user)}</p>
      <EmailProblem user={user} />
      <Form action="/forms/authorize" flash={await flashOf(formErrors)}>
        {Object.entries(parameters).map(([field, value]) => (
          <input key={field} type="hidden" name={field} value={value} />
        ))}
        <button type="submit" name="decision" value="allow">
          {texts.allow(user.name ?? user.email)}
        </button>
        <button type="submit" name="decision" value="deny" className="quiet">
          {common.cancel}
        </button>
      </Form>
      <p className="aside">
        <a href={`/sign-in?${new URLSearchParams({ callbackUrl: page })}`}>{texts.otherAccount}</a>
      </p>
    </div>
  );
}

async function InvalidRequest() {
  const texts = await textsOf(AUTHORIZE);
  return (
    <div className="narrow">
      <h1>{texts.invalidTitle}</h1>
      <Notice kind="error">{texts.invalid}</Notice>
      <p>{texts.advice}</p>
    </div>
  );
}
