import { Form } from "../components/form";

/** The title of a page for signed-in users, with a button to sign out. */
export function AccountHeading({ title }: { title: string }) {
  return (
    <div className="heading">
      <h1>{title}</h1>
      <Form action="/forms/sign-out">
        <button type="submit" className="quiet">
          Sign out
        </button>
      </Form>
    </div>
  );
}
