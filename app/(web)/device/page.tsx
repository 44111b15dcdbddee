import { type DeviceRequest, findDeviceRequest } from "@/lib/auth/authorization-server/device-codes";
import { clientName } from "@/lib/auth/sessions/client-name";
import { pageContext } from "@/lib/auth/visitor";
import { isAppError } from "@/lib/errors";
import { toFormError } from "@/lib/platform/http/pages/form";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { type PageProps, readPage } from "../components/page-props";
import { TimeText } from "../components/time";
import { ResumeForm } from "../confirm/resume-form";
import { COMMON } from "../language/common-texts";
import { translateError } from "../language/german-errors";
import { pageLocale, textsOf, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const DEVICE = defineTexts({
  en: {
    title: "Connect a device",
    allowed: "Your device is signed in. You can close this page.",
    denied: "The request was refused. The device is not signed in.",
    codeHint: "Enter the code that your device shows.",
    question: (app: string, email: string) => (
      <>
        Allow <strong>{app}</strong> to sign in as <strong>{email}</strong>?
      </>
    ),
    requested: "Requested",
    from: (network: string) => `from ${network}`,
    warning: "Allow it only if your own device shows this code. If somebody sent you the code, refuse.",
    operator: "Also give this device my rights as an operator, to the console and the admin API",
    allow: "Allow",
    refuse: "Refuse",
  },
  de: {
    title: "Gerät verbinden",
    allowed: "Ihr Gerät ist angemeldet. Sie können diese Seite schließen.",
    denied: "Die Anfrage wurde abgelehnt. Das Gerät ist nicht angemeldet.",
    codeHint: "Geben Sie den Code ein, den Ihr Gerät zeigt.",
    question: (app, email) => (
      <>
        Darf sich <strong>{app}</strong> als <strong>{email}</strong> anmelden?
      </>
    ),
    requested: "Angefragt",
    from: (network) => `aus dem Netz ${network}`,
    warning:
      "Erlauben Sie es nur, wenn Ihr eigenes Gerät diesen Code zeigt. Wenn Ihnen jemand den Code geschickt hat, lehnen Sie ab.",
    operator: "Diesem Gerät auch meine Rechte zum Betrieb geben, an der Konsole und der Admin-API",
    allow: "Erlauben",
    refuse: "Ablehnen",
  },
});

type DeviceTexts = (typeof DEVICE)["en"];

export const generateMetadata = titleOf(DEVICE);

export default async function Page(props: PageProps) {
  const { query, flash, texts } = await readPage(props, DEVICE);
  const { done, user_code: typed } = query;
  const page = typed === undefined ? "/device" : `/device?${new URLSearchParams({ user_code: typed })}`;
  const visitor = await requireVisitor(page);
  const success = done === "allowed" || done === "denied" ? texts[done] : null;
  const found = typed === undefined ? null : await find(visitor, typed);
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      {success && <Notice>{success}</Notice>}
      {flash && (flash.resume ? <ResumeForm flash={flash} /> : <Notice kind="error">{flash.message}</Notice>)}
      {found?.error && !flash && <Notice kind="error">{found.error}</Notice>}
      {found?.request && <Decision request={found.request} visitor={visitor} texts={texts} />}
      {!found?.request && !success && <CodeForm texts={texts} />}
    </div>
  );
}

async function find(visitor: Parameters<typeof findDeviceRequest>[1], typed: string) {
  try {
    return { request: await findDeviceRequest(pageContext(), visitor, typed) };
  } catch (error) {
    if (isAppError(error)) return { error: translateError(toFormError(error).message, await pageLocale()) };
    throw error;
  }
}

/** A GET form: the code ends up in the URL, as in the link that a device shows. */
async function CodeForm({ texts }: { texts: DeviceTexts }) {
  const common = await textsOf(COMMON);
  return (
    <form action="/device" method="get">
      <div className="field">
        <label htmlFor="user_code">{common.code}</label>
        <p className="hint" id="user_code-hint">
          {texts.codeHint}
        </p>
        <input
          id="user_code"
          name="user_code"
          required
          maxLength={16}
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          aria-describedby="user_code-hint"
        />
      </div>
      <button type="submit">{common.continueButton}</button>
    </form>
  );
}

type DecisionProps = {
  request: DeviceRequest;
  visitor: Awaited<ReturnType<typeof requireVisitor>>;
  texts: DeviceTexts;
};

async function Decision({ request, visitor, texts }: DecisionProps) {
  const common = await textsOf(COMMON);
  const { userCode, clientName: app, network, userAgent, createdAt } = request;
  return (
    <>
      <p>{texts.question(app, visitor.user.email)}</p>
      <dl>
        <dt>{common.code}</dt>
        <dd>{userCode}</dd>
        <dt>{texts.requested}</dt>
        <dd>
          <TimeText at={createdAt} />, {clientName(null, userAgent)}
          {network && `, ${texts.from(network)}`}
        </dd>
      </dl>
      <p>{texts.warning}</p>
      <Form action="/forms/device">
        <input type="hidden" name="user_code" value={userCode} />
        {visitor.account.role !== "user" && (
          <label className="check">
            <input type="checkbox" name="operator" /> {texts.operator}
          </label>
        )}
        <button type="submit" name="decision" value="allow">
          {texts.allow}
        </button>
        <button type="submit" name="decision" value="deny" className="quiet">
          {texts.refuse}
        </button>
      </Form>
    </>
  );
}
