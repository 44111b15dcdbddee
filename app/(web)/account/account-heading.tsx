import { Form } from "../components/form";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";

/** The title of a page for signed-in users, with a button to sign out. */
export async function AccountHeading({ title }: { title: string }) {
  const { signOut } = await textsOf(COMMON);
  return (
    <div className="heading">
      <h1>{title}</h1>
      <Form action="/forms/sign-out">
        <button type="submit" className="quiet">
          {signOut}
        </button>
      </Form>
    </div>
  );
}
