import {
  AuthorizationParameters,
  authorizationPage,
  checkAuthorizationRequest,
} from "@/lib/auth/oauth-server/authorization-request";
import { isAppError } from "@/lib/errors";
import { pageContext } from "@/lib/http/pages/visitor";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";

export const metadata = { title: "Sign in to an app", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { formErrors, ...query } = await queryOf(props);
  const parameters = AuthorizationParameters.safeParse(query).data;
  const request = parameters && findRequest(parameters);
  if (!request) return <InvalidRequest />;
  const page = authorizationPage(parameters);
  const { user } = await requireVisitor(page);
  const { name } = request.client;
  return (
    <div className="narrow">
      <h1>Continue to {name}</h1>
      <p>
        <strong>{name}</strong> on this device will be signed in as <strong>{user.name ?? user.email}</strong>
        {user.name !== null && ` (${user.email})`}. Continue only if you started this in {name}.
      </p>
      <Form action="/forms/authorize" flash={await flashOf(formErrors)}>
        {Object.entries(parameters).map(([field, value]) => (
          <input key={field} type="hidden" name={field} value={value} />
        ))}
        <button type="submit" name="decision" value="allow">
          Continue as {user.name ?? user.email}
        </button>
        <button type="submit" name="decision" value="deny" className="quiet">
          Cancel
        </button>
      </Form>
      <p className="aside">
        <a href={`/sign-in?${new URLSearchParams({ callbackUrl: page })}`}>Use another account</a>
      </p>
    </div>
  );
}

function findRequest(parameters: AuthorizationParameters) {
  try {
    return checkAuthorizationRequest(pageContext().config, parameters).request;
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}

function InvalidRequest() {
  return (
    <div className="narrow">
      <h1>This link does not work</h1>
      <Notice kind="error">The app that sent you here is not registered, or its request is incomplete.</Notice>
      <p>Go back to the app and try again. If it does not help, update the app.</p>
    </div>
  );
}
