// Receives webhooks and accepts only what is signed: PORT=3000 WEBHOOK_SECRETS="whsec_…" mono webhook.exe
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using FiscalGatewayExample;

public static class Webhook
{
    public static void Main()
    {
        var secrets = Environment.GetEnvironmentVariable("WEBHOOK_SECRETS").Split(new[] { ' ' }, StringSplitOptions.RemoveEmptyEntries);
        // In earnest a table of whole events, each as not done yet: the same one may come twice.
        var seen = new HashSet<string>();
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + Environment.GetEnvironmentVariable("PORT") + "/");
        listener.Start();
        Console.WriteLine("listening");
        while (true)
        {
            var context = listener.GetContext();
            try
            {
                context.Response.StatusCode = Receive(context.Request, secrets, seen);
                context.Response.Close();
            }
            catch (Exception error)
            {
                // The caller has left, or this program is wrong: the next one is served all the same.
                Console.Error.WriteLine(error);
                context.Response.Abort();
            }
        }
    }

    private static int Receive(HttpListenerRequest request, string[] secrets, HashSet<string> seen)
    {
        var body = new MemoryStream();
        request.InputStream.CopyTo(body);
        try
        {
            var received = FiscalGateway.VerifyWebhook(body.ToArray(), name => request.Headers[name], secrets);
            if (seen.Add(received.Id)) Console.WriteLine("event {0} {1}", received.Type, received.Id);
            // Answer within ten seconds, once it is kept; then work on what the table has as not done.
            return 204;
        }
        catch (NotOursException error)
        {
            Console.WriteLine("refused: " + error.Message);
            return 400;
        }
    }
}
