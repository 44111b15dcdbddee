import { type DeviceRequest, findDeviceRequest } from "@/lib/auth/oauth-server/device-codes";
import { clientName } from "@/lib/auth/sessions/client-name";
import { isAppError } from "@/lib/errors";
import { toFormError } from "@/lib/http/pages/form-errors";
import { pageContext } from "@/lib/http/pages/visitor";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { Moment } from "../components/time";

export const metadata = { title: "Connect a device", robots: { index: false } };

const DONE: Record<string, string> = {
  allowed: "Your device is signed in. You can close this page.",
  denied: "The request was refused. The device is not signed in.",
};

export default async function Page(props: PageProps) {
  const { done, formErrors, user_code: typed } = await queryOf(props);
  const page = typed === undefined ? "/device" : `/device?${new URLSearchParams({ user_code: typed })}`;
  const visitor = await requireVisitor(page);
  const success = done && Object.hasOwn(DONE, done) ? DONE[done] : null;
  const flash = await flashOf(formErrors);
  const found = typed === undefined ? null : await find(visitor, typed);
  return (
    <div className="narrow">
      <h1>Connect a device</h1>
      {success && <Notice>{success}</Notice>}
      {flash && <Notice kind="error">{flash.message}</Notice>}
      {found?.error && !flash && <Notice kind="error">{found.error}</Notice>}
      {found?.request ? <Decision request={found.request} email={visitor.user.email} /> : !success && <CodeForm />}
    </div>
  );
}

async function find(visitor: Parameters<typeof findDeviceRequest>[1], typed: string) {
  try {
    return { request: await findDeviceRequest(pageContext(), visitor, typed) };
  } catch (error) {
    if (isAppError(error)) return { error: toFormError(error).message };
    throw error;
  }
}

/** A GET form: the code ends up in the URL, as in the link that a device shows. */
function CodeForm() {
  return (
    <form action="/device" method="get">
      <div className="field">
        <label htmlFor="user_code">Code</label>
        <p className="hint" id="user_code-hint">
          Enter the code that your device shows.
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
      <button type="submit">Continue</button>
    </form>
  );
}

function Decision({ request, email }: { request: DeviceRequest; email: string }) {
  const { userCode, clientName: app, network, userAgent, createdAt } = request;
  return (
    <>
      <p>
        Allow <strong>{app}</strong> to sign in as <strong>{email}</strong>?
      </p>
      <dl>
        <dt>Code</dt>
        <dd>{userCode}</dd>
        <dt>Requested</dt>
        <dd>
          <Moment at={createdAt} />, {clientName(null, userAgent)}
          {network && `, from ${network}`}
        </dd>
      </dl>
      <p>Allow it only if your own device shows this code. If somebody sent you the code, refuse.</p>
      <Form action="/forms/device">
        <input type="hidden" name="user_code" value={userCode} />
        <button type="submit" name="decision" value="allow">
          Allow
        </button>
        <button type="submit" name="decision" value="deny" className="quiet">
          Refuse
        </button>
      </Form>
    </>
  );
}
