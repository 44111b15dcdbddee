import { AuthorizationParameters, authorizationPage } from "@/lib/auth/authorization-server/authorization-request";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { COMMON } from "../language/common-texts";
import { textsOf, titleOf } from "../language/page-language";
import { findRequest } from "./find-authorization";
import { AUTHORIZE } from "./texts";

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
