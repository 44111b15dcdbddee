export const metadata = { title: "Look into your mail" };

export default function Page() {
  return (
    <div className="narrow">
      <h1>Look into your mail</h1>
      <p className="lead">We have sent you a link. It confirms that the address is yours; open it to go on.</p>
      <p>No mail? Look into the spam folder, or sign in with your password to get another.</p>
      <p className="aside">
        <a href="/sign-in">Back to signing in</a>
      </p>
    </div>
  );
}
