import { type DeviceRequest, findDeviceRequest } from "@/lib/auth/authorization-server/device-codes";
import { clientName } from "@/lib/auth/sessions/client-name";
import { pageContext } from "@/lib/auth/visitor";
import { isAppError } from "@/lib/errors";
import { toFormError } from "@/lib/platform/http/pages/form";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TimeText } from "../components/time";
import { ResumeForm } from "../confirm/resume-form";
import { COMMON } from "../language/common-texts";
import { translateError } from "../language/german-errors";
import { pageLocale, textsOf, titleOf } from "../language/page-language";
import { DEVICE, type DeviceTexts } from "./texts";

export const generateMetadata = titleOf(DEVICE);

export default async function Page(props: PageProps) {
  const { done, formErrors, user_code: typed } = await queryOf(props);
  const page = typed === undefined ? "/device" : `/device?${new URLSearchParams({ user_code: typed })}`;
  const visitor = await requireVisitor(page);
  const texts = await textsOf(DEVICE);
  const success = done === "allowed" || done === "denied" ? texts[done] : null;
  const flash = await flashOf(formErrors);
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
