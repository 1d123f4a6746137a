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
        var secrets = Environment.GetEnvironmentVariable("WEBHOOK_SECRETS").Split(' ');
        // In earnest a table: the same event may come twice.
        var seen = new HashSet<string>();
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + Environment.GetEnvironmentVariable("PORT") + "/");
        listener.Start();
        Console.WriteLine("listening");
        while (true)
        {
            var context = listener.GetContext();
            var body = new MemoryStream();
            context.Request.InputStream.CopyTo(body);
            try
            {
                var received = FiscalGateway.VerifyWebhook(body.ToArray(), name => context.Request.Headers[name], secrets);
                if (seen.Add(received.Id)) Console.WriteLine("event {0} {1}", received.Type, received.Id);
                // Answer first, within ten seconds; work on it afterwards.
                context.Response.StatusCode = 204;
            }
            catch (NotOursException error)
            {
                Console.WriteLine("refused: " + error.Message);
                context.Response.StatusCode = 400;
            }
            context.Response.Close();
        }
    }
}
