"""Mistakes with layers, optimizers, data, files and transforms. Part of
``mistakes.py``.
"""

MODULE_MISTAKES: dict[str, list[tuple[str, str]]] = {
    "more layers": [
        ("nn.Linear(3,2)(torch.ones(2,3,dtype=torch.float64))", "RuntimeError"),
        ("nn.Linear(3,2)(torch.ones(2,3,dtype=torch.int64))", "RuntimeError"),
        ("nn.Linear(3,2)([1.,2.,3.])", "TypeError"),
        ("nn.Linear(-1,2)", "RuntimeError"),
        ("nn.Linear('a',2)", "TypeError"),
        ("nn.Linear(3,2,dtype=torch.int64)", "RuntimeError"),
        ("nn.Bilinear(2,3,4)(torch.ones(1,2),torch.ones(1,4))", "RuntimeError"),
        ("nn.Bilinear(0,3,4)", "ValueError"),
        (
            "nn.MaxUnpool2d(2)(torch.ones(1,1,2,2),torch.full((1,1,2,2),99))",
            "RuntimeError",
        ),
        ("nn.MaxUnpool2d(2)(torch.ones(1,1,2,2),torch.ones(1,1,2,2))", "RuntimeError"),
        (
            "nn.MaxUnpool2d(2)(torch.ones(1,1,2,2),torch.ones(1,1,3,3,"
            "dtype=torch.int64))",
            "RuntimeError",
        ),
        ("nn.BatchNorm1d(3)(torch.ones(1,3))", "ValueError"),
        ("nn.BatchNorm1d(3)(torch.ones(2,4))", "RuntimeError"),
        ("nn.BatchNorm1d(3)(torch.ones(2,3,4,5))", "ValueError"),
        ("nn.BatchNorm2d(3)(torch.ones(2,3))", "ValueError"),
        ("F.batch_norm(torch.ones(2,3),None,None)", "RuntimeError"),
        ("F.batch_norm(torch.ones(2,3),torch.ones(2),torch.ones(3))", "RuntimeError"),
        (
            "F.batch_norm(torch.ones(2,3),torch.ones(3),torch.ones(3),"
            "weight=torch.ones(2))",
            "RuntimeError",
        ),
        ("nn.LayerNorm(4)(torch.ones(2,3))", "RuntimeError"),
        ("nn.LayerNorm(())(torch.ones(2,3))", "RuntimeError"),
        ("F.layer_norm(torch.ones(2,3),(3,),weight=torch.ones(2))", "RuntimeError"),
        ("F.layer_norm(torch.ones(2,3),[])", "RuntimeError"),
        ("nn.GroupNorm(2,3)", "ValueError"),
        ("nn.GroupNorm(2,4)(torch.ones(2,3))", "RuntimeError"),
        ("F.group_norm(torch.ones(2,4),3)", "RuntimeError"),
        ("F.group_norm(torch.ones(4),2)", "RuntimeError"),
        ("nn.InstanceNorm2d(3)(torch.ones(2,3,1,1))", "ValueError"),
        ("nn.InstanceNorm2d(3,affine=True)(torch.ones(2,4,2,2))", "ValueError"),
        ("nn.InstanceNorm1d(3)(torch.ones(3))", "ValueError"),
        ("nn.RMSNorm(3)(torch.ones(2,4))", "RuntimeError"),
        ("nn.LocalResponseNorm(2)(torch.ones(2))", "ValueError"),
        ("nn.Softmax(dim=2)(torch.ones(2,3))", "IndexError"),
        ("nn.Softmax2d()(torch.ones(2,3))", "ValueError"),
        ("nn.Softmax(dim='a')(torch.ones(2,3))", "TypeError"),
        ("nn.GLU()(torch.ones(2,3))", "RuntimeError"),
        ("nn.PReLU(3)(torch.ones(2,4))", "RuntimeError"),
        ("nn.Threshold(0.1)", "TypeError"),
        ("nn.Hardtanh(1,0)", "AssertionError"),
        ("nn.RReLU(1.,0.5)(torch.ones(2))", "RuntimeError"),
        ("nn.GELU(approximate='x')(torch.ones(2))", "RuntimeError"),
        ("nn.Dropout(2)", "ValueError"),
        ("nn.Dropout('a')", "TypeError"),
        ("nn.Dropout2d(-.1)", "ValueError"),
        ("nn.AlphaDropout(1.5)", "ValueError"),
        ("F.alpha_dropout(torch.ones(2),2.)", "ValueError"),
        ("nn.Upsample(scale_factor=2)(torch.ones(2,2))", "NotImplementedError"),
        ("nn.Upsample()(torch.ones(1,1,2,2))", "ValueError"),
        ("nn.Upsample(size=2,scale_factor=2)(torch.ones(1,1,2,2))", "ValueError"),
        ("F.interpolate(torch.ones(1,1,2,2),size=(2,2,2))", "ValueError"),
        (
            "F.interpolate(torch.ones(1,1,2,2),scale_factor=2,mode='cubic')",
            "NotImplementedError",
        ),
        (
            "F.interpolate(torch.ones(1,1,2),scale_factor=2,mode='bilinear')",
            "NotImplementedError",
        ),
        (
            "F.interpolate(torch.ones(1,1,2,2),scale_factor=2,"
            "mode='nearest',align_corners=True)",
            "ValueError",
        ),
        ("F.interpolate(torch.ones(1,1,2,2),scale_factor=0.1)", "RuntimeError"),
        ("F.interpolate(torch.ones(1,1,2,2),size=0)", "RuntimeError"),
        ("F.grid_sample(torch.ones(1,1,2,2),torch.ones(1,2,2,3))", "RuntimeError"),
        ("F.grid_sample(torch.ones(1,1,2,2),torch.ones(2,2,2,2))", "RuntimeError"),
        (
            "F.grid_sample(torch.ones(1,1,2,2),torch.ones(1,2,2,2),mode='x')",
            "ValueError",
        ),
        (
            "F.grid_sample(torch.ones(1,1,2,2),torch.ones(1,2,2,2),padding_mode='x')",
            "ValueError",
        ),
        ("F.affine_grid(torch.ones(1,2,2),(1,1,2,2))", "ValueError"),
        ("F.affine_grid(torch.ones(1,2,3).long(),(1,1,2,2))", "ValueError"),
        ("F.pad(torch.ones(2),(1,1,1))", "RuntimeError"),
        ("F.pad(torch.ones(2,2),(1,1),mode='reflect2')", "NotImplementedError"),
        ("F.pad(torch.ones(1,2),(3,3),mode='reflect')", "RuntimeError"),
        ("F.pad(torch.ones(2),(-2,-2))", "RuntimeError"),
        ("F.pad(torch.ones(2),(1,1,1,1))", "RuntimeError"),
        ("F.pixel_shuffle(torch.ones(1,3,2,2),2)", "RuntimeError"),
        ("F.pixel_unshuffle(torch.ones(1,3,3,3),2)", "RuntimeError"),
        ("F.channel_shuffle(torch.ones(1,3,2,2),2)", "RuntimeError"),
        ("F.one_hot(torch.tensor([3]),2)", "RuntimeError"),
        ("F.one_hot(torch.tensor([1.]))", "RuntimeError"),
        ("F.cosine_similarity(torch.ones(2,3),torch.ones(2,4))", "RuntimeError"),
        ("F.pairwise_distance(torch.ones(2,3),torch.ones(3,4))", "RuntimeError"),
        ("F.pdist(torch.ones(2))", "RuntimeError"),
        ("F.pdist(torch.ones(2,2),-1)", "RuntimeError"),
        ("F.normalize(torch.ones(2),dim=3)", "IndexError"),
        ("F.gumbel_softmax(torch.ones(2).long(),dim=0)", "RuntimeError"),
        (
            "nn.Sequential(nn.Linear(2,3),nn.Linear(2,3))(torch.ones(1,2))",
            "RuntimeError",
        ),
        ("nn.Sequential(nn.ReLU())[3]", "IndexError"),
        ("nn.ModuleDict({'a':1})", "TypeError"),
        ("nn.ModuleDict({1:nn.ReLU()})", "TypeError"),
        ("nn.ParameterList([1])[2]", "IndexError"),
        ("nn.Module().register_parameter('a.b',None)", "KeyError"),
        ("nn.Module().register_parameter('a',torch.ones(1))", "TypeError"),
        ("nn.Module().register_buffer('a',1)", "TypeError"),
        ("nn.Module().add_module('a',1)", "TypeError"),
        ("nn.Linear(1,1).load_state_dict({'weight':torch.ones(1,1)})", "RuntimeError"),
        (
            "nn.Linear(1,1).load_state_dict({'weight':torch.ones(2,1),"
            "'bias':torch.ones(1)})",
            "RuntimeError",
        ),
        ("nn.Linear(1,1).load_state_dict([1])", "TypeError"),
        ("nn.Linear(1,1).to(torch.int64)", "TypeError"),
        ("nn.Linear(1,1).to('gpu')", "RuntimeError"),
        ("nn.Linear(1,1).weight=1", "TypeError"),
        ("l=nn.Linear(1,1);l.weight=torch.ones(1,1)", "TypeError"),
        ("nn.Parameter(torch.ones(1).long())", "RuntimeError"),
        ("nn.Flatten(5)(torch.ones(2,3))", "IndexError"),
        ("nn.Unflatten(1,(2,2))(torch.ones(2,3))", "RuntimeError"),
        ("nn.Unflatten('a',(2,2))(torch.ones(2,4))", "TypeError"),
        ("nn.ZeroPad2d(1)(torch.ones(()))", "RuntimeError"),
        ("nn.ReflectionPad2d(3)(torch.ones(1,1,2,2))", "RuntimeError"),
    ],
    "convolutions and pooling": [
        ("nn.Conv2d(3,4,3)(torch.ones(1,2,5,5))", "RuntimeError"),
        ("nn.Conv2d(3,4,3)(torch.ones(3,5))", "RuntimeError"),
        ("nn.Conv2d(3,4,3)(torch.ones(1,3,2,2))", "RuntimeError"),
        ("nn.Conv2d(3,4,3,groups=2)", "ValueError"),
        ("nn.Conv2d(4,3,3,groups=2)", "ValueError"),
        ("nn.Conv2d(4,4,3,groups=0)", "ValueError"),
        ("nn.Conv2d(3,4,3,padding='full')", "ValueError"),
        ("nn.Conv2d(3,4,3,stride=2,padding='same')", "ValueError"),
        ("nn.Conv2d(3,4,3,padding_mode='wrong')", "ValueError"),
        ("nn.Conv2d(3,4,(3,))(torch.ones(1,3,5,5))", "RuntimeError"),
        ("nn.Conv2d(3,4,3,stride=0)(torch.ones(1,3,5,5))", "RuntimeError"),
        ("nn.Conv2d(3,4,3,dilation=0)(torch.ones(1,3,5,5))", "RuntimeError"),
        ("nn.Conv2d(3,4,3,padding=-1)(torch.ones(1,3,5,5))", "RuntimeError"),
        ("nn.Conv1d(3,4,3)(torch.ones(1,3,5,5))", "RuntimeError"),
        ("nn.Conv3d(1,1,2)(torch.ones(1,1,2,2))", "RuntimeError"),
        ("nn.Conv2d(3,4,3)(torch.ones(1,3,5,5).double())", "RuntimeError"),
        (
            "nn.ConvTranspose2d(3,4,3,output_padding=2)(torch.ones(1,3,5,5))",
            "RuntimeError",
        ),
        (
            "nn.ConvTranspose2d(3,4,3,stride=2)(torch.ones(1,3,5,5),"
            "output_size=(100,100))",
            "ValueError",
        ),
        ("nn.ConvTranspose2d(3,4,3,padding_mode='reflect')", "ValueError"),
        (
            "F.conv2d(torch.ones(1,1,3,3),torch.ones(1,1,2,2),bias=torch.ones(2))",
            "RuntimeError",
        ),
        (
            "F.conv2d(torch.ones(1,1,3,3),torch.ones(1,1,2,2),stride=(1,2,3))",
            "RuntimeError",
        ),
        ("F.conv2d(torch.ones(1,1,3,3),torch.ones(1,1,2,2),groups=3)", "RuntimeError"),
        ("F.conv2d(torch.ones(1,1,3,3),torch.ones(1,1,2))", "RuntimeError"),
        ("F.conv1d(torch.ones(3),torch.ones(1,1,2))", "RuntimeError"),
        ("F.fold(torch.ones(1,4,4),(3,3),(2,2),stride=2)", "RuntimeError"),
        ("F.fold(torch.ones(1,3,4),(3,3),(2,2))", "RuntimeError"),
        ("F.unfold(torch.ones(1,1,2,2),(3,3))", "RuntimeError"),
        ("nn.MaxPool2d(2,padding=2)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.MaxPool2d(5)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.MaxPool2d(0)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.MaxPool2d(2,stride=0)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.MaxPool1d(2)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.AvgPool2d(2,padding=2)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.AvgPool2d(2,divisor_override=0)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.AvgPool2d(2)(torch.ones(1,1,1,1))", "RuntimeError"),
        ("nn.AdaptiveAvgPool2d((2,2,2))(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.AdaptiveAvgPool2d(-1)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.AdaptiveMaxPool1d(2)(torch.ones(4))", "RuntimeError"),
        ("nn.FractionalMaxPool2d(2)", "ValueError"),
        ("nn.FractionalMaxPool2d(2,output_ratio=2.)", "ValueError"),
        ("nn.LPPool2d(2,0)(torch.ones(1,1,4,4))", "RuntimeError"),
        ("nn.Fold(2,2)(torch.ones(4))", "RuntimeError"),
    ],
    "recurrent layers and attention": [
        ("nn.RNN(3,4)(torch.ones(2,5))", "RuntimeError"),
        ("nn.RNN(3,4)(torch.ones(2))", "ValueError"),
        ("nn.RNN(3,4)(torch.ones(2,1,3),torch.ones(1,1,5))", "RuntimeError"),
        ("nn.RNN(3,4)(torch.ones(2,1,3),torch.ones(1,2,4))", "RuntimeError"),
        ("nn.RNN(3,4)(torch.ones(2,3),torch.ones(1,1,4))", "RuntimeError"),
        ("nn.RNN(3,4,nonlinearity='gelu')", "ValueError"),
        ("nn.RNN(3,4,num_layers=0)", "ValueError"),
        ("nn.RNN(3,0)", "ValueError"),
        ("nn.RNN(3,4,dropout=2)", "ValueError"),
        ("nn.RNN(3,4)(torch.ones(2,1,3).long())", "ValueError"),
        ("nn.LSTM(3,4)(torch.ones(2,1,3),torch.ones(1,1,4))", "IndexError"),
        ("nn.LSTM(3,4)(torch.ones(2,1,3),(torch.ones(1,1,4),))", "IndexError"),
        (
            "nn.LSTM(3,4)(torch.ones(2,1,3),(torch.ones(1,1,4),torch.ones(1,1,5)))",
            "RuntimeError",
        ),
        ("nn.LSTM(3,4,proj_size=4)", "ValueError"),
        ("nn.LSTM(3,4,proj_size=-1)", "ValueError"),
        ("nn.GRU(3,4,proj_size=2)", "ValueError"),
        ("nn.GRU(3,4)(torch.ones(2,1,3),torch.ones(2,1,4))", "RuntimeError"),
        ("nn.GRU(3,4)(torch.ones(0,1,3))", "RuntimeError"),
        ("nn.LSTMCell(3,4)(torch.ones(2,4))", "RuntimeError"),
        (
            "nn.LSTMCell(3,4)(torch.ones(2,3),(torch.ones(3,4),torch.ones(3,4)))",
            "RuntimeError",
        ),
        ("nn.LSTMCell(3,4)(torch.ones(1,2,3))", "ValueError"),
        ("nn.GRUCell(3,4)(torch.ones(2,3),torch.ones(2,5))", "RuntimeError"),
        ("nn.RNNCell(3,4,nonlinearity='x')(torch.ones(2,3))", "RuntimeError"),
        ("nn.MultiheadAttention(5,2)", "AssertionError"),
        ("nn.MultiheadAttention(4,0)", "ValueError"),
        (
            "nn.MultiheadAttention(4,2)(torch.ones(3,1,5),torch.ones(3,1,"
            "5),torch.ones(3,1,5))",
            "AssertionError",
        ),
        (
            "nn.MultiheadAttention(4,2)(torch.ones(3,1,4),torch.ones(2,1,"
            "4),torch.ones(3,1,4))",
            "AssertionError",
        ),
        (
            "nn.MultiheadAttention(4,2)(torch.ones(4),torch.ones(4),torch.ones(4))",
            "AssertionError",
        ),
        (
            "nn.MultiheadAttention(4,2)(torch.ones(3,1,4),torch.ones(3,1,"
            "4),torch.ones(3,1,4),attn_mask=torch.ones(2,2)>0)",
            "RuntimeError",
        ),
        (
            "nn.MultiheadAttention(4,2)(torch.ones(3,1,4),torch.ones(3,1,"
            "4),torch.ones(3,1,4),key_padding_mask=torch.ones(3,1)>0)",
            "AssertionError",
        ),
        (
            "nn.MultiheadAttention(4,2)(torch.ones(3,1,4),torch.ones(3,1,"
            "4),torch.ones(3,1,4),is_causal=True)",
            "RuntimeError",
        ),
        (
            "nn.MultiheadAttention(4,2)(torch.ones(3,1,4),torch.ones(3,1,"
            "4),torch.ones(3,1,4),attn_mask=torch.ones(3,3,"
            "dtype=torch.int64))",
            "AssertionError",
        ),
        (
            "nn.MultiheadAttention(4,2,kdim=3)(torch.ones(3,1,4),"
            "torch.ones(3,1,4),torch.ones(3,1,4))",
            "AssertionError",
        ),
        (
            "F.scaled_dot_product_attention(torch.ones(2,3),torch.ones(2,"
            "4),torch.ones(2,3))",
            "RuntimeError",
        ),
        (
            "F.scaled_dot_product_attention(torch.ones(3),torch.ones(3),torch.ones(3))",
            "RuntimeError",
        ),
        (
            "F.scaled_dot_product_attention(torch.ones(1,2,3),torch.ones(1,"
            "2,3),torch.ones(1,2,3),attn_mask=torch.ones(2,2)>0,"
            "is_causal=True)",
            "RuntimeError",
        ),
        (
            "F.scaled_dot_product_attention(torch.ones(1,2,3),torch.ones(1,"
            "2,3).double(),torch.ones(1,2,3))",
            "RuntimeError",
        ),
        (
            "F.scaled_dot_product_attention(torch.ones(1,2,3),torch.ones(1,"
            "2,3),torch.ones(1,2,3),attn_mask=torch.ones(2,2).long())",
            "RuntimeError",
        ),
        (
            "F.scaled_dot_product_attention(torch.ones(1,2,3),torch.ones(1,"
            "2,3),torch.ones(1,2,3),attn_mask=torch.ones(3,3))",
            "RuntimeError",
        ),
        (
            "F.scaled_dot_product_attention(torch.ones(1,2,3).long(),"
            "torch.ones(1,2,3).long(),torch.ones(1,2,3).long())",
            "RuntimeError",
        ),
        ("nn.TransformerEncoderLayer(5,2)", "AssertionError"),
        ("nn.TransformerEncoderLayer(4,2,activation='tanh')", "RuntimeError"),
        ("nn.TransformerEncoderLayer(4,2)(torch.ones(2,1,3))", "AssertionError"),
        ("nn.TransformerDecoderLayer(4,2)(torch.ones(2,1,4))", "TypeError"),
        (
            "nn.Transformer(4,2,1,1)(torch.ones(2,1,4),torch.ones(2,2,4))",
            "RuntimeError",
        ),
        (
            "nn.Transformer(4,2,1,1)(torch.ones(2,1,4),torch.ones(2,1,5))",
            "RuntimeError",
        ),
    ],
    "nn.utils": [
        ("nn.utils.rnn.pack_padded_sequence(torch.ones(3,2,1),[1,3])", "RuntimeError"),
        ("nn.utils.rnn.pack_padded_sequence(torch.ones(3,2,1),[3,0])", "RuntimeError"),
        ("nn.utils.rnn.pack_padded_sequence(torch.ones(3,2,1),[3])", "RuntimeError"),
        ("nn.utils.rnn.pack_sequence([torch.ones(1),torch.ones(2)])", "RuntimeError"),
        (
            "nn.utils.rnn.pad_sequence([torch.ones(2,2),torch.ones(2,3)])",
            "RuntimeError",
        ),
        (
            "nn.utils.rnn.pad_packed_sequence(nn.utils.rnn"
            ".pack_sequence([torch.ones(2)]),total_length=1)",
            "ValueError",
        ),
        ("nn.init.dirac_(torch.ones(2))", "ValueError"),
        ("nn.init.orthogonal_(torch.ones(2))", "ValueError"),
        ("nn.init.eye_(torch.ones(2))", "ValueError"),
        ("nn.init.sparse_(torch.ones(2),0.1)", "ValueError"),
        ("nn.init.kaiming_normal_(torch.ones(2,2),mode='x')", "ValueError"),
        ("nn.init.calculate_gain('x')", "ValueError"),
        ("nn.utils.clip_grad_value_(1,1.)", "TypeError"),
        ("nn.utils.parameters_to_vector([])", "ValueError"),
        ("nn.utils.vector_to_parameters(1,[torch.ones(1)])", "TypeError"),
        (
            "nn.utils.vector_to_parameters(torch.ones(1),[torch.ones(2)])",
            "RuntimeError",
        ),
        ("nn.utils.parametrizations.orthogonal(nn.Linear(2,2),'foo')", "ValueError"),
        (
            "nn.utils.parametrize.register_parametrization(nn.Linear(2,2),"
            "'foo',nn.ReLU())",
            "ValueError",
        ),
        (
            "nn.utils.parametrize.remove_parametrizations(nn.Linear(2,2),'weight')",
            "ValueError",
        ),
        ("nn.utils.remove_weight_norm(nn.Linear(2,2))", "ValueError"),
        ("nn.utils.spectral_norm(nn.Linear(2,2),n_power_iterations=0)", "ValueError"),
        (
            "nn.utils.fusion.fuse_conv_bn_eval(nn.Conv2d(1,1,1),nn.BatchNorm2d(1))",
            "AssertionError",
        ),
    ],
    "embeddings": [
        ("nn.Embedding(3,2)(torch.tensor([3]))", "IndexError"),
        ("nn.Embedding(3,2)(torch.tensor([-1]))", "IndexError"),
        ("nn.Embedding(3,2)(torch.tensor([1.]))", "RuntimeError"),
        ("nn.Embedding(3,2)(torch.tensor([True]))", "RuntimeError"),
        ("nn.Embedding(3,2)([1])", "TypeError"),
        ("nn.Embedding(3,2,padding_idx=3)", "AssertionError"),
        ("nn.Embedding(3,2,padding_idx=-4)", "AssertionError"),
        ("nn.Embedding(-3,2)", "RuntimeError"),
        ("nn.Embedding(3,2,_weight=torch.ones(2,2))", "AssertionError"),
        ("nn.Embedding.from_pretrained(torch.ones(3))", "AssertionError"),
        (
            "F.embedding(torch.tensor([0]),torch.ones(2,2),padding_idx=2)",
            "AssertionError",
        ),
        ("F.embedding(torch.ones(2,2),torch.tensor([0]))", "RuntimeError"),
        ("nn.EmbeddingBag(3,2)(torch.tensor([0,1]))", "ValueError"),
        ("nn.EmbeddingBag(3,2)(torch.tensor([0,1]),torch.tensor([1]))", "RuntimeError"),
        (
            "nn.EmbeddingBag(3,2)(torch.tensor([0,1]),torch.tensor([0,5]))",
            "RuntimeError",
        ),
        ("nn.EmbeddingBag(3,2)(torch.tensor([[0,1]]),torch.tensor([0]))", "ValueError"),
        ("nn.EmbeddingBag(3,2,mode='median')(torch.tensor([[0,1]]))", "ValueError"),
        (
            "nn.EmbeddingBag(3,2,mode='mean')(torch.tensor([0,1]),"
            "torch.tensor([0]),per_sample_weights=torch.ones(2))",
            "NotImplementedError",
        ),
        (
            "nn.EmbeddingBag(3,2,mode='sum')(torch.tensor([0,1]),"
            "torch.tensor([0]),per_sample_weights=torch.ones(3))",
            "ValueError",
        ),
        (
            "nn.EmbeddingBag(3,2)(torch.tensor([0.,1.]),torch.tensor([0]))",
            "RuntimeError",
        ),
        ("nn.EmbeddingBag(3,2)(torch.tensor([0,1]),torch.tensor([[0]]))", "ValueError"),
        (
            "nn.CosineEmbeddingLoss()(torch.ones(2,3),torch.ones(2,3),torch.ones(2,2))",
            "RuntimeError",
        ),
        (
            "nn.CosineEmbeddingLoss()(torch.ones(2,3),torch.ones(2,4),torch.ones(2))",
            "RuntimeError",
        ),
        (
            "F.embedding_bag(torch.tensor([0,1,2]),torch.ones(4,2),"
            "torch.tensor([0,4]))",
            "RuntimeError",
        ),
        (
            "F.embedding_bag(torch.tensor([0,1,2]),torch.ones(4,2),"
            "torch.tensor([0,5]),include_last_offset=True)",
            "RuntimeError",
        ),
        (
            "F.embedding_bag(torch.tensor([0,1,2]),torch.ones(4,2),"
            "torch.tensor([1,2]))",
            "RuntimeError",
        ),
        (
            "F.embedding_bag(torch.tensor([0,1,2]),torch.ones(4,2),"
            "torch.tensor([0,2,1]))",
            "RuntimeError",
        ),
        (
            "F.embedding_bag(torch.tensor([0,1,2]),torch.ones(4,2),"
            "torch.tensor([],dtype=torch.long),include_last_offset=True)",
            "RuntimeError",
        ),
    ],
    "losses": [
        ("nn.CrossEntropyLoss()(torch.ones(2,3),torch.tensor([0,3]))", "IndexError"),
        ("nn.CrossEntropyLoss()(torch.ones(2,3),torch.tensor([0,-1]))", "IndexError"),
        ("nn.CrossEntropyLoss()(torch.ones(2,3),torch.tensor([0]))", "ValueError"),
        ("nn.CrossEntropyLoss()(torch.ones(2,3),torch.ones(2,4))", "RuntimeError"),
        (
            "nn.CrossEntropyLoss()(torch.ones(2,3),torch.tensor([0.,1.]))",
            "RuntimeError",
        ),
        (
            "nn.CrossEntropyLoss()(torch.ones(2,3).long(),torch.tensor([0,1]))",
            "NotImplementedError",
        ),
        (
            "nn.CrossEntropyLoss(weight=torch.ones(2))(torch.ones(2,3),"
            "torch.tensor([0,1]))",
            "RuntimeError",
        ),
        (
            "nn.CrossEntropyLoss(label_smoothing=2.)(torch.ones(2,3),"
            "torch.tensor([0,1]))",
            "RuntimeError",
        ),
        (
            "nn.CrossEntropyLoss(reduction='avg')(torch.ones(2,3),torch.tensor([0,1]))",
            "ValueError",
        ),
        (
            "nn.CrossEntropyLoss()(torch.ones(2,3),torch.tensor([[0],[1]]))",
            "RuntimeError",
        ),
        ("nn.NLLLoss()(torch.ones(2,3),torch.tensor([0,5]))", "IndexError"),
        ("nn.NLLLoss()(torch.ones(2,3),torch.tensor([0.,1.]))", "RuntimeError"),
        ("nn.MSELoss()(torch.ones(2,3),torch.ones(2,4))", "RuntimeError"),
        ("nn.MSELoss(reduction='bad')(torch.ones(2),torch.ones(2))", "ValueError"),
        ("nn.L1Loss()(torch.ones(2,3),torch.ones(4))", "RuntimeError"),
        ("nn.BCELoss()(torch.tensor([2.]),torch.tensor([1.]))", "RuntimeError"),
        ("nn.BCELoss()(torch.tensor([.5]),torch.tensor([1]))", "RuntimeError"),
        ("nn.BCELoss()(torch.tensor([.5]),torch.tensor([1.,0.]))", "ValueError"),
        ("nn.BCEWithLogitsLoss()(torch.ones(2),torch.ones(3))", "ValueError"),
        ("nn.BCEWithLogitsLoss()(torch.ones(2),torch.ones(2).long())", "RuntimeError"),
        (
            "nn.BCEWithLogitsLoss(pos_weight=torch.ones(3))(torch.ones(2),"
            "torch.ones(2))",
            "RuntimeError",
        ),
        ("nn.KLDivLoss()(torch.ones(2),torch.ones(3))", "RuntimeError"),
        ("nn.KLDivLoss(reduction='x')(torch.ones(2),torch.ones(2))", "ValueError"),
        ("nn.HuberLoss(delta=0)(torch.ones(2),torch.ones(2))", "RuntimeError"),
        ("nn.HuberLoss(delta=-1.)(torch.ones(2),torch.ones(2))", "RuntimeError"),
        ("nn.SmoothL1Loss(beta=-1.)(torch.ones(2),torch.ones(2))", "RuntimeError"),
        ("nn.PoissonNLLLoss(reduction='x')(torch.ones(2),torch.ones(2))", "ValueError"),
        (
            "nn.GaussianNLLLoss()(torch.ones(2),torch.ones(2),-torch.ones(2))",
            "ValueError",
        ),
        (
            "nn.GaussianNLLLoss()(torch.ones(2),torch.ones(2),torch.ones(3))",
            "ValueError",
        ),
        (
            "nn.MarginRankingLoss()(torch.ones(2),torch.ones(2),torch.ones(2,2))",
            "RuntimeError",
        ),
        (
            "nn.TripletMarginLoss()(torch.ones(2,3),torch.ones(2,3),torch.ones(2))",
            "RuntimeError",
        ),
        ("nn.TripletMarginLoss(margin=-1)", "ValueError"),
        ("nn.MultiMarginLoss(p=3)", "ValueError"),
        ("nn.MultiMarginLoss()(torch.ones(2,3),torch.tensor([0,3]))", "RuntimeError"),
        (
            "nn.MultiLabelMarginLoss()(torch.ones(2,3),torch.ones(2,2).long())",
            "RuntimeError",
        ),
        ("nn.MultiLabelMarginLoss()(torch.ones(3),torch.ones(3))", "RuntimeError"),
        (
            "nn.CTCLoss()(torch.ones(3,1,2).log_softmax(2),torch.ones(1,"
            "5).long(),(3,),(6,))",
            "RuntimeError",
        ),
        (
            "nn.CTCLoss()(torch.ones(3,1,2).log_softmax(2),torch.ones(1,"
            "1).long(),(9,),(1,))",
            "RuntimeError",
        ),
        (
            "nn.CTCLoss(blank=5)(torch.ones(3,1,2).log_softmax(2),"
            "torch.ones(1,1).long(),(3,),(1,))",
            "RuntimeError",
        ),
        (
            "nn.CTCLoss()(torch.ones(3,1,2).log_softmax(2),torch.ones(1,"
            "1).long(),(3,3),(1,))",
            "RuntimeError",
        ),
        ("nn.AdaptiveLogSoftmaxWithLoss(4,5,[6])", "ValueError"),
        (
            "nn.AdaptiveLogSoftmaxWithLoss(4,5,[2])(torch.ones(2,4),"
            "torch.tensor([0,7]))",
            "RuntimeError",
        ),
        (
            "nn.AdaptiveLogSoftmaxWithLoss(4,5,[2])(torch.ones(2,3),"
            "torch.tensor([0,1]))",
            "RuntimeError",
        ),
        ("F.multi_margin_loss(torch.ones(2,3),torch.tensor([0]))", "RuntimeError"),
        ("torch.cross(torch.ones(3)>0,torch.ones(3)>0,dim=0)", "NotImplementedError"),
    ],
    "steps of optimizers": [
        ("torch.optim.SGD([],0.1)", "ValueError"),
        ("torch.optim.SGD([torch.ones(1)],lr=-1)", "ValueError"),
        ("torch.optim.SGD([torch.ones(1)],lr='a')", "TypeError"),
        ("torch.optim.SGD(torch.ones(1),lr=.1)", "TypeError"),
        ("torch.optim.SGD([1],lr=.1)", "TypeError"),
        (
            "torch.optim.SGD([torch.ones(1)*torch.ones(1,requires_grad=True)],lr=.1)",
            "ValueError",
        ),
        ("torch.optim.SGD([torch.ones(1)],lr=.1,nesterov=True)", "ValueError"),
        ("torch.optim.SGD([torch.ones(1)],lr=.1,momentum=-1)", "ValueError"),
        ("torch.optim.SGD([torch.ones(1)],lr=.1,weight_decay=-1)", "ValueError"),
        (
            "torch.optim.SGD([torch.ones(1)],lr=.1,foreach=True,fused=True)",
            "RuntimeError",
        ),
        ("torch.optim.SGD([{'lr':1}])", "KeyError"),
        (
            "torch.optim.SGD([{'params':[torch.ones(1)]},{'params':[1]}],lr=.1)",
            "TypeError",
        ),
        ("torch.optim.Adam([torch.ones(1)],lr=-1)", "ValueError"),
        ("torch.optim.Adam([torch.ones(1)],betas=(1.,.9))", "ValueError"),
        ("torch.optim.Adam([torch.ones(1)],betas=.9)", "TypeError"),
        ("torch.optim.Adam([torch.ones(1)],eps=-1)", "ValueError"),
        ("torch.optim.Adam([torch.ones(1)],weight_decay=-1)", "ValueError"),
        ("torch.optim.Adam([torch.ones(1)],foo=1)", "TypeError"),
        ("torch.optim.AdamW([torch.ones(1)],lr=torch.tensor([.1,.2]))", "ValueError"),
        ("torch.optim.RMSprop([torch.ones(1)],alpha=-1)", "ValueError"),
        ("torch.optim.Rprop([torch.ones(1)],etas=(2.,1.))", "ValueError"),
        ("torch.optim.Adagrad([torch.ones(1)],lr_decay=-1)", "ValueError"),
        ("torch.optim.Adadelta([torch.ones(1)],rho=2)", "ValueError"),
        ("torch.optim.Adamax([torch.ones(1)],betas=(2,2))", "ValueError"),
        ("torch.optim.NAdam([torch.ones(1)],momentum_decay=-1)", "ValueError"),
        ("torch.optim.RAdam([torch.ones(1)],lr=-1)", "ValueError"),
        ("torch.optim.ASGD([torch.ones(1)],lr=-1)", "ValueError"),
        ("torch.optim.LBFGS([torch.ones(1,requires_grad=True)]).step()", "TypeError"),
        (
            "torch.optim.LBFGS([{'params':[torch.ones(1)]},"
            "{'params':[torch.ones(1)]}])",
            "ValueError",
        ),
        ("o=torch.optim.SGD([torch.ones(1)],.1);o.add_param_group(1)", "TypeError"),
        (
            "p=torch.ones(1);o=torch.optim.SGD([p],"
            ".1);o.add_param_group({'params':[p]})",
            "ValueError",
        ),
        ("o=torch.optim.SGD([torch.ones(1)],.1);o.load_state_dict({})", "KeyError"),
        (
            "o=torch.optim.SGD([torch.ones(1)],"
            ".1);o.load_state_dict({'state':{},'param_groups':[]})",
            "ValueError",
        ),
        (
            "o=torch.optim.SGD([torch.ones(1)],"
            ".1);o.load_state_dict({'state':{},"
            "'param_groups':[{'params':[0,1]}]})",
            "ValueError",
        ),
        ("o=torch.optim.SGD([torch.ones(1)],.1);o.step(1)", "TypeError"),
    ],
    "schedulers": [
        ("torch.optim.lr_scheduler.StepLR(1,1)", "TypeError"),
        (
            "torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch"
            ".ones(1)],.1),0).step()",
            "ZeroDivisionError",
        ),
        (
            "torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch"
            ".ones(1)],.1),2,last_epoch=3)",
            "KeyError",
        ),
        (
            "torch.optim.lr_scheduler.LambdaLR(torch.optim.SGD([torch"
            ".ones(1)],.1),[lambda e:1,lambda e:1])",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.LambdaLR(torch.optim.SGD([torch.ones(1)],.1),1)",
            "TypeError",
        ),
        (
            "torch.optim.lr_scheduler.MultiStepLR(torch.optim.SGD([torch"
            ".ones(1)],.1),1)",
            "TypeError",
        ),
        (
            "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(torch"
            ".optim.SGD([torch.ones(1)],.1),0)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(torch"
            ".optim.SGD([torch.ones(1)],.1),2,T_mult=0)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.CyclicLR(torch.optim.SGD([torch"
            ".ones(1)],.1),.1,.2,mode='x')",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([torch"
            ".ones(1)],.1),.1)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([torch"
            ".ones(1)],.1),.1,total_steps=-1)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([torch"
            ".ones(1)],.1),.1,total_steps=5,pct_start=2)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([torch"
            ".ones(1)],.1),.1,total_steps=5,anneal_strategy='x')",
            "ValueError",
        ),
        (
            "s=torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([torch"
            ".ones(1)],.1),.1,total_steps=1,"
            "cycle_momentum=False);s.step();s.step()",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim"
            ".SGD([torch.ones(1)],.1),mode='x')",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim"
            ".SGD([torch.ones(1)],.1),factor=1.)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim"
            ".SGD([torch.ones(1)],.1),threshold_mode='x')",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim"
            ".SGD([torch.ones(1)],.1),min_lr=[1,2])",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim"
            ".SGD([torch.ones(1)],.1)).step()",
            "TypeError",
        ),
        (
            "torch.optim.lr_scheduler.SequentialLR(torch.optim.SGD([torch"
            ".ones(1)],.1),[],[])",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.SequentialLR(torch.optim.SGD([torch"
            ".ones(1)],.1),"
            "[torch.optim.lr_scheduler.ConstantLR(torch.optim.SGD([torch"
            ".ones(1)],.1))],[1])",
            "ValueError",
        ),
        ("torch.optim.lr_scheduler.ChainedScheduler([])", "ValueError"),
        (
            "torch.optim.lr_scheduler.ConstantLR(torch.optim.SGD([torch"
            ".ones(1)],.1),factor=2)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.LinearLR(torch.optim.SGD([torch"
            ".ones(1)],.1),start_factor=0)",
            "ValueError",
        ),
        (
            "torch.optim.lr_scheduler.LinearLR(torch.optim.SGD([torch"
            ".ones(1)],.1),end_factor=2)",
            "ValueError",
        ),
        (
            "torch.optim.swa_utils.SWALR(torch.optim.SGD([torch.ones(1)],"
            ".1),.1,anneal_strategy='x')",
            "ValueError",
        ),
    ],
    "data": [
        ("torch.utils.data.DataLoader([1,2],batch_size=0)", "ValueError"),
        ("torch.utils.data.DataLoader([1,2],batch_size=1.5)", "ValueError"),
        ("torch.utils.data.DataLoader([1,2],shuffle=True,sampler=[0])", "ValueError"),
        ("torch.utils.data.DataLoader([1,2],num_workers=-1)", "ValueError"),
        ("torch.utils.data.DataLoader([1,2],num_workers='a')", "TypeError"),
        ("torch.utils.data.DataLoader([1,2],timeout=-1)", "ValueError"),
        ("torch.utils.data.DataLoader([1,2],prefetch_factor=2)", "ValueError"),
        ("torch.utils.data.DataLoader([1,2],persistent_workers=True)", "ValueError"),
        (
            "torch.utils.data.DataLoader([1,2],batch_sampler=[[0]],batch_size=2)",
            "ValueError",
        ),
        (
            "torch.utils.data.DataLoader([1,2],batch_sampler=[[0]],drop_last=True)",
            "ValueError",
        ),
        (
            "torch.utils.data.DataLoader([1,2],batch_size=None,drop_last=True)",
            "ValueError",
        ),
        ("torch.utils.data.DataLoader([],shuffle=True)", "ValueError"),
        ("torch.utils.data.DataLoader(5).__iter__().__next__()", "TypeError"),
        ("list(torch.utils.data.DataLoader([1,2],sampler=[5]))", "IndexError"),
        (
            "list(torch.utils.data.DataLoader([torch.ones(2),"
            "torch.ones(3)],batch_size=2))",
            "RuntimeError",
        ),
        ("list(torch.utils.data.DataLoader([1,'a'],batch_size=2))", "TypeError"),
        ("list(torch.utils.data.DataLoader([object()]))", "TypeError"),
        ("list(torch.utils.data.DataLoader([None]))", "TypeError"),
        ("list(torch.utils.data.DataLoader([[1],[1,2]],batch_size=2))", "RuntimeError"),
        (
            "list(torch.utils.data.DataLoader([{'a':1},{'b':1}],batch_size=2))",
            "KeyError",
        ),
        (
            "class D(torch.utils.data.IterableDataset):\n"
            " def __iter__(self): return iter([1])\n"
            "torch.utils.data.DataLoader(D(),shuffle=True)",
            "ValueError",
        ),
        (
            "class D(torch.utils.data.IterableDataset):\n"
            " def __iter__(self): return iter([1])\n"
            "torch.utils.data.DataLoader(D(),sampler=[0])",
            "ValueError",
        ),
        ("class D(torch.utils.data.Dataset): pass\nD()[0]", "NotImplementedError"),
        ("class D(torch.utils.data.Dataset): pass\nlen(D())", "TypeError"),
        (
            "class D(torch.utils.data.Dataset): pass\n"
            "list(torch.utils.data.DataLoader(D()))",
            "TypeError",
        ),
        (
            "torch.utils.data.TensorDataset(torch.ones(2),torch.ones(3))",
            "AssertionError",
        ),
        ("torch.utils.data.random_split([1,2,3],[1,1])", "ValueError"),
        ("torch.utils.data.random_split([1,2,3],[.5,.6])", "ValueError"),
        ("torch.utils.data.random_split([1,2,3],[-.5,1.5])", "ValueError"),
        ("torch.utils.data.ConcatDataset([])", "AssertionError"),
        ("torch.utils.data.ConcatDataset([[1]])[3]", "IndexError"),
        ("torch.utils.data.ConcatDataset([[1]])[-3]", "ValueError"),
        ("torch.utils.data.StackDataset([1],[1,2])", "ValueError"),
        ("torch.utils.data.RandomSampler([])", "ValueError"),
        ("torch.utils.data.RandomSampler([1],num_samples=0)", "ValueError"),
        ("torch.utils.data.RandomSampler([1],replacement=1)", "TypeError"),
        ("torch.utils.data.WeightedRandomSampler([1.],0)", "ValueError"),
        (
            "torch.utils.data.WeightedRandomSampler([1.],2,"
            "replacement=False).__iter__().__next__()",
            "RuntimeError",
        ),
        ("torch.utils.data.BatchSampler([1],0,False)", "ValueError"),
        ("torch.utils.data.BatchSampler([1],1,2)", "ValueError"),
        ("torch.utils.data.default_collate([object()])", "TypeError"),
        ("torch.utils.data.default_collate([])", "IndexError"),
        ("torch.utils.data.Subset([1],[3])[0]", "IndexError"),
    ],
    "files": [
        ("import io;torch.load(io.BytesIO(b''))", "EOFError"),
        ("import io;torch.load(io.BytesIO(b'garbage'))", "UnpicklingError"),
        ("import io;torch.load(io.BytesIO(b'PK\\x03\\x04garbage'))", "RuntimeError"),
        (
            "import io;b=io.BytesIO();torch.save(torch.ones(9),"
            "b);torch.load(io.BytesIO(b.getvalue()[:100]))",
            "RuntimeError",
        ),
        (
            "import io;b=io.BytesIO();torch.save(torch.ones(9),"
            "b);torch.load(io.BytesIO(b.getvalue()[:-10]))",
            "RuntimeError",
        ),
        (
            "import io;b=io.BytesIO();torch.save(torch.ones(9),"
            "b);torch.load(io.BytesIO(b.getvalue()[50:]))",
            "UnpicklingError",
        ),
        (
            "import io;b=io.BytesIO();torch.save(print,b);b.seek(0);torch.load(b)",
            "UnpicklingError",
        ),
        (
            "import io;b=io.BytesIO();torch.save(nn.Linear(1,1),"
            "b);b.seek(0);torch.load(b)",
            "UnpicklingError",
        ),
        (
            "import io;b=io.BytesIO();torch.save(torch.ones(1),"
            "b);b.seek(0);torch.load(b,mmap=True)",
            "ValueError",
        ),
        ("torch.save(lambda: 0,__import__('io').BytesIO())", "PicklingError"),
        ("torch.save((x for x in []),__import__('io').BytesIO())", "TypeError"),
        (
            "import io,zipfile;b=io.BytesIO();z=zipfile.ZipFile(b,"
            "'w');z.writestr('archive/data.pkl',"
            "b'\\x80\\x02cos\\nsystem\\nX\\x02\\x00\\x00\\x00ls\\x85R.');z"
            ".writestr('archive/version',"
            "'3');z.close();b.seek(0);torch.load(b)",
            "UnpicklingError",
        ),
    ],
    "function transforms": [
        ("torch.func.vmap(lambda x:x.item())(torch.ones(2))", "RuntimeError"),
        ("torch.func.vmap(lambda x:x)(1)", "ValueError"),
        ("torch.func.vmap(lambda x,y:x)(torch.ones(2),torch.ones(3))", "ValueError"),
        ("torch.func.vmap(lambda x:x,in_dims=1)(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:x,in_dims=(0,0))(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:x,in_dims=None)(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:x,in_dims='a')(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:x,out_dims=3)(torch.ones(2))", "IndexError"),
        ("torch.func.vmap(lambda x:x,out_dims='a')(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:1)(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:None)(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:(x,x),out_dims=(0,))(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:torch.rand(2))(torch.ones(2))", "RuntimeError"),
        (
            "torch.func.vmap(lambda x:torch.rand(2),randomness='x')(torch.ones(2))",
            "RuntimeError",
        ),
        ("torch.func.vmap(lambda x:x if x>0 else -x)(torch.ones(2))", "RuntimeError"),
        ("torch.func.vmap(lambda x:x.nonzero())(torch.ones(2,2))", "RuntimeError"),
        ("torch.func.vmap(lambda x:float(x))(torch.ones(2))", "RuntimeError"),
        ("torch.func.vmap(lambda x:x.tolist())(torch.ones(2))", "RuntimeError"),
        ("torch.func.vmap(lambda x:x,chunk_size=0)(torch.ones(2))", "ValueError"),
        ("torch.func.vmap(lambda x:x)(torch.ones(()))", "ValueError"),
        ("torch.func.vmap(lambda x:x)()", "ValueError"),
        (
            "y=torch.ones(2);torch.func.vmap(lambda x:y.add_(x))(torch.ones(3))",
            "RuntimeError",
        ),
        (
            "y=torch.ones(());torch.func.vmap(lambda x:y.add_(x))(torch.ones(3))",
            "RuntimeError",
        ),
        ("torch.func.grad(lambda x:x)(torch.ones(2))", "RuntimeError"),
        ("torch.func.grad(lambda x:1.)(torch.ones(2))", "RuntimeError"),
        ("torch.func.grad(lambda x:x.sum())(1.)", "ValueError"),
        ("torch.func.grad(lambda x:x.sum())(torch.ones(2).long())", "RuntimeError"),
        ("torch.func.grad(lambda x:(x.sum(),))(torch.ones(2))", "RuntimeError"),
        (
            "torch.func.grad(lambda x:x.sum(),has_aux=True)(torch.ones(2))",
            "RuntimeError",
        ),
        ("torch.func.grad(lambda x:x.sum(),argnums=1)(torch.ones(2))", "RuntimeError"),
        (
            "torch.func.grad(lambda x:x.sum(),argnums=(0,0))(torch.ones(2))",
            "RuntimeError",
        ),
        (
            "torch.func.grad(lambda x:x.sum(),argnums='a')(torch.ones(2))",
            "RuntimeError",
        ),
        ("torch.func.grad(lambda x:x.sum(),argnums=())(torch.ones(2))", "RuntimeError"),
        ("torch.func.vjp(lambda x:x,torch.ones(2))[1](torch.ones(3))", "RuntimeError"),
        ("torch.func.vjp(lambda x:1,torch.ones(2))", "RuntimeError"),
        ("torch.func.jvp(lambda x:x,torch.ones(2),torch.ones(2))", "RuntimeError"),
        (
            "torch.func.jvp(lambda x:x,(torch.ones(2),),(torch.ones(3),))",
            "RuntimeError",
        ),
        ("torch.func.jvp(lambda x:x,(torch.ones(2),),())", "RuntimeError"),
        ("torch.func.jvp(lambda x:x,(),())", "RuntimeError"),
        ("torch.func.jvp(lambda x:x,(1.,),(1.,))", "RuntimeError"),
        (
            "torch.func.jvp(lambda x:1,(torch.ones(2),),(torch.ones(2),))",
            "RuntimeError",
        ),
        ("torch.func.jacrev(lambda x:1)(torch.ones(2))", "RuntimeError"),
        ("torch.func.jacrev(lambda x:x,argnums=2)(torch.ones(2))", "RuntimeError"),
        ("torch.func.jacrev(lambda x:x,chunk_size=-1)(torch.ones(2))", "ValueError"),
        ("torch.func.jacfwd(lambda x:1)(torch.ones(2))", "RuntimeError"),
        ("torch.func.hessian(lambda x:1)(torch.ones(2))", "RuntimeError"),
        (
            "torch.func.linearize(lambda x:x,torch.ones(2))[1](torch.ones(3))",
            "RuntimeError",
        ),
        (
            "torch.func.functional_call(nn.Linear(1,1),{'weight':1},torch.ones(1))",
            "TypeError",
        ),
        ("torch.func.functional_call(nn.Linear(1,1),1,torch.ones(1))", "ValueError"),
        (
            "torch.func.functional_call(nn.Linear(1,1),"
            "{'weight':torch.ones(1,1)},torch.ones(1),strict=True)",
            "RuntimeError",
        ),
        ("torch.func.stack_module_state([])", "RuntimeError"),
        (
            "torch.func.stack_module_state([nn.Linear(1,1),nn.Linear(1,2)])",
            "RuntimeError",
        ),
        ("torch.func.stack_module_state([nn.Linear(1,1),nn.ReLU()])", "RuntimeError"),
        ("torch.func.functionalize(1)(torch.ones(1))", "TypeError"),
    ],
    "gradients": [
        (
            "torch.autograd.grad(torch.ones(2,requires_grad=True),torch.ones(2))",
            "RuntimeError",
        ),
        (
            "x=torch.ones(2,requires_grad=True);torch.autograd.grad(x*2,x)",
            "RuntimeError",
        ),
        (
            "x=torch.ones(2,requires_grad=True);torch.autograd.grad((x*2).sum(),[])",
            "RuntimeError",
        ),
        ("x=torch.ones(2,requires_grad=True);torch.autograd.grad(1,x)", "TypeError"),
        (
            "x=torch.ones(2,requires_grad=True);y=torch.ones(2,"
            "requires_grad=True);torch.autograd.grad(x.sum(),y)",
            "RuntimeError",
        ),
        (
            "x=torch.ones(2,"
            "requires_grad=True);torch.autograd.grad((x*2).sum(),x,"
            "grad_outputs=torch.ones(3))",
            "RuntimeError",
        ),
        (
            "x=torch.ones(2,requires_grad=True);torch.autograd.grad((x*2),"
            "x,grad_outputs=1)",
            "TypeError",
        ),
        (
            "x=torch.ones(2,"
            "requires_grad=True);y=(x*x).sum();y.backward();y.backward()",
            "RuntimeError",
        ),
        (
            "x=torch.ones(2,requires_grad=True);y=x.exp();y.add_(1);y.sum().backward()",
            "RuntimeError",
        ),
        ("x=torch.ones(2,requires_grad=True);x.add_(1)", "RuntimeError"),
        ("x=torch.ones(2,requires_grad=True);x[0]=1", "RuntimeError"),
        ("x=torch.ones(2,requires_grad=True);x.data=1", "TypeError"),
        (
            "x=torch.ones(2,requires_grad=True);x.data=torch.ones(2).long()",
            "RuntimeError",
        ),
        ("x=torch.ones(2,requires_grad=True);x.grad=torch.ones(3)", "RuntimeError"),
        ("x=torch.ones(2,requires_grad=True);x.grad=1", "TypeError"),
        (
            "x=torch.ones(2,requires_grad=True);x.grad=torch.ones(2).double()",
            "RuntimeError",
        ),
        ("x=torch.ones(2,requires_grad=True);x.grad=x", "RuntimeError"),
        ("x=torch.ones(2,requires_grad=True);x.numpy()", "RuntimeError"),
        (
            "x=torch.ones(2,requires_grad=True);y=x*2;y.requires_grad=False",
            "RuntimeError",
        ),
        ("x=torch.ones(2).long();x.requires_grad=True", "RuntimeError"),
        ("x=torch.ones(2);x.requires_grad=1", "RuntimeError"),
        ("torch.ones(2).long().requires_grad_()", "RuntimeError"),
        ("torch.ones(2,requires_grad=True,dtype=torch.int64)", "RuntimeError"),
        ("torch.ones((),requires_grad=True).backward(1)", "TypeError"),
        ("torch.ones((),requires_grad=True).backward(torch.ones(2))", "RuntimeError"),
        ("torch.ones((),requires_grad=True).backward(inputs=[])", "RuntimeError"),
        ("torch.ones((),requires_grad=True).backward(inputs=[1])", "RuntimeError"),
        (
            "x=torch.ones(2,"
            "requires_grad=True);x.register_hook(lambda g:1);x.sum()"
            ".backward()",
            "TypeError",
        ),
        (
            "x=torch.ones(2,"
            "requires_grad=True);x.register_hook(lambda g:torch.ones(3));x"
            ".sum().backward()",
            "RuntimeError",
        ),
        (
            "x=torch.ones(2,"
            "requires_grad=True);(x*1)"
            ".register_post_accumulate_grad_hook(lambda p:None)",
            "RuntimeError",
        ),
        (
            "import copy;x=torch.ones(2,requires_grad=True);copy.deepcopy(x*2)",
            "RuntimeError",
        ),
        (
            "with torch.no_grad():\n y=torch.ones(2,requires_grad=True)*2\n"
            "y.sum().backward()",
            "RuntimeError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " def forward(ctx,x): return x*2\nF1.apply(torch.ones(1,"
            "requires_grad=True)).backward()",
            "NotImplementedError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " def forward(ctx,x): return x*2\n @staticmethod\n"
            " def backward(ctx,g): return g,g\nF1.apply(torch.ones(1,"
            "requires_grad=True)).backward()",
            "RuntimeError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " def forward(ctx,x): return x*2\n @staticmethod\n"
            " def backward(ctx,g): return 1\nF1.apply(torch.ones(1,"
            "requires_grad=True)).backward()",
            "RuntimeError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " def forward(ctx,x): ctx.save_for_backward(1); return x*2\n"
            "F1.apply(torch.ones(1,requires_grad=True))",
            "TypeError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " def forward(ctx,x): raise KeyError('k')\n"
            "F1.apply(torch.ones(1,requires_grad=True))",
            "KeyError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " def forward(ctx,x): return x*2\n @staticmethod\n"
            " def backward(ctx,g): raise KeyError('k')\n"
            "F1.apply(torch.ones(1,requires_grad=True)).backward()",
            "KeyError",
        ),
        (
            "class F1(torch.autograd.Function): pass\nF1.apply(torch.ones(1,"
            "requires_grad=True))",
            "NotImplementedError",
        ),
        (
            "class F1(torch.autograd.Function): pass\nF1()(torch.ones(1))",
            "RuntimeError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " def forward(ctx,x): ctx.mark_dirty(x); return x*2\n"
            " @staticmethod\n def backward(ctx,g): return g\n"
            "F1.apply(torch.ones(1,requires_grad=True))",
            "RuntimeError",
        ),
        (
            "class F1(torch.autograd.Function):\n @staticmethod\n"
            " @torch.autograd.function.once_differentiable\n"
            " def backward(ctx,g): return g*2\n @staticmethod\n"
            " def forward(ctx,x): return x*2\nx=torch.ones(1,"
            "requires_grad=True)\ng,=torch.autograd.grad(F1.apply(x),x,"
            "create_graph=True)\ng.backward()",
            "RuntimeError",
        ),
        ("torch.autograd.functional.jacobian(lambda x:1,torch.ones(2))", "TypeError"),
        ("torch.autograd.functional.jacobian(lambda x:x,1)", "TypeError"),
        ("torch.autograd.functional.hessian(lambda x:x,torch.ones(2))", "RuntimeError"),
        ("torch.autograd.functional.vjp(lambda x:x,torch.ones(2))", "RuntimeError"),
        (
            "torch.autograd.functional.vjp(lambda x:x,torch.ones(2),torch.ones(3))",
            "RuntimeError",
        ),
        ("torch.autograd.functional.jvp(lambda x:x,torch.ones(2))", "RuntimeError"),
        (
            "torch.autograd.functional.hvp(lambda x:x.sum(),torch.ones(2),"
            "torch.ones(3))",
            "RuntimeError",
        ),
        (
            "torch.autograd.functional.jacobian(lambda x:x.detach(),"
            "torch.ones(2),strict=True)",
            "RuntimeError",
        ),
        (
            "torch.autograd.functional.jacobian(lambda x:x,torch.ones(2),"
            "vectorize=True,strategy='x')",
            "AssertionError",
        ),
        ("torch.autograd.gradcheck(lambda x:x,torch.ones(2))", "ValueError"),
        (
            "torch.autograd.gradcheck(lambda x:x.detach()*2+x,torch.ones(2,"
            "requires_grad=True,dtype=torch.float64))",
            "GradcheckError",
        ),
        ("torch.autograd.graph.saved_tensors_hooks(1)", "TypeError"),
        (
            "torch.autograd.forward_ad.make_dual(torch.ones(2),torch.ones(2))",
            "RuntimeError",
        ),
        (
            "with torch.autograd.forward_ad.dual_level():\n"
            " torch.autograd.forward_ad.make_dual(torch.ones(2),"
            "torch.ones(3))",
            "RuntimeError",
        ),
        (
            "with torch.autograd.forward_ad.dual_level():\n"
            " torch.autograd.forward_ad.make_dual(torch.ones(2).long(),"
            "torch.ones(2).long())",
            "ValueError",
        ),
        ("x=torch.ones(2,requires_grad=True); (x*1)[:1].detach_()", "RuntimeError"),
        ("x=torch.ones(2,requires_grad=True); x[:1].detach_()", "RuntimeError"),
        ("x=torch.ones(2,requires_grad=True)*1; x.view(2).detach_()", "RuntimeError"),
        (
            "x=torch.ones(2,requires_grad=True)*1; a,b=x.unbind(); a.detach_()",
            "RuntimeError",
        ),
        (
            "torch.signbit(torch.ones(2),out=torch.ones(2,requires_grad=True))",
            "RuntimeError",
        ),
        (
            "torch.isneginf(torch.ones(2),out=torch.ones(2,requires_grad=True))",
            "RuntimeError",
        ),
        (
            "torch.any(torch.ones(2),0,out=torch.ones((),requires_grad=True))",
            "RuntimeError",
        ),
        (
            "torch.add(torch.ones(2),1,out=torch.ones(2,requires_grad=True))",
            "RuntimeError",
        ),
        (
            "torch.bitwise_and(torch.tensor([1]),1,out=torch.ones(1,"
            "requires_grad=True))",
            "RuntimeError",
        ),
    ],
    "more functions": [
        ("torch.ones(2).retain_grad()", "RuntimeError"),
        ("torch.ones(2).register_hook(lambda g:g)", "RuntimeError"),
        (
            "torch.utils.checkpoint.checkpoint(1,torch.ones(1),use_reentrant=False)",
            "TypeError",
        ),
        (
            "torch.utils.checkpoint.checkpoint(lambda x:x,torch.ones(1),"
            "use_reentrant=True,foo=1)",
            "ValueError",
        ),
        (
            "torch.utils.checkpoint.checkpoint(lambda x:x,torch.ones(1),"
            "use_reentrant=False,context_fn=1)",
            "TypeError",
        ),
        (
            "torch.utils.checkpoint.checkpoint_sequential(1,1,"
            "torch.ones(1),use_reentrant=False)",
            "TypeError",
        ),
        ("torch.linalg.solve(torch.eye(2),torch.ones(3))", "RuntimeError"),
        ("torch.linalg.norm(torch.ones(2),ord='x')", "RuntimeError"),
        ("torch.fft.fft(torch.ones(2),n=0)", "RuntimeError"),
        ("torch.fft.fft(torch.ones(2),norm='x')", "RuntimeError"),
        ("torch.fft.irfft(torch.ones(1),n=-1)", "RuntimeError"),
        ("torch.special.polygamma(-1,torch.ones(2))", "RuntimeError"),
        ("torch.hann_window(-1)", "RuntimeError"),
        ("torch.kaiser_window(3,beta='a')", "TypeError"),
        ("torch.signal.windows.hann(-1)", "ValueError"),
        ("torch.Generator().set_state(torch.ones(3))", "TypeError"),
        ("torch.set_default_dtype('float')", "TypeError"),
        ("torch.set_default_device('foo')", "RuntimeError"),
        ("torch.device('cpu:a')", "RuntimeError"),
        ("torch.device('foo')", "RuntimeError"),
        ("torch.dtype('float32')", "TypeError"),
        ("torch.Size(['a'])", "TypeError"),
        ("torch.Size(1)", "TypeError"),
        ("torch.finfo(torch.int64)", "TypeError"),
        ("torch.autocast('foo')", "RuntimeError"),
        ("torch.compile(1)", "AssertionError"),
        ("torch.testing.assert_close(torch.ones(2),torch.ones(3))", "AssertionError"),
        ("torch.testing.assert_close(torch.ones(2),torch.zeros(2))", "AssertionError"),
        ("torch.testing.assert_close(torch.ones(2),1)", "TypeError"),
        (
            "torch.testing.assert_close(torch.ones(2),torch.ones(2).double())",
            "AssertionError",
        ),
        ("torch.testing.assert_close('a','b')", "TypeError"),
        ("x=torch.ones(4); torch.cat([x[:2],x[2:]],out=x)", "RuntimeError"),
        ("x=torch.ones(6); torch.cat([x[:2],x[:1]],out=x[1:4])", "RuntimeError"),
        ("x=torch.ones(2,2); torch.stack([x[0],x[1]],out=x)", "RuntimeError"),
        (
            "x=torch.ones(4); torch.gather(x[:3],0,torch.tensor([0,1,2]),out=x[1:])",
            "RuntimeError",
        ),
        ("x=torch.ones(3); torch.add(x[:2],x[1:],out=x[:2])", "RuntimeError"),
        ("x=torch.ones(3); torch.add(x[:2],1,out=x[1:])", "RuntimeError"),
        ("torch.nextafter(torch.ones(2),1)", "TypeError"),
        ("torch.gcd(torch.tensor([2]),2)", "TypeError"),
        ("torch.lcm(torch.tensor([2]),2)", "TypeError"),
        ("torch.igamma(torch.ones(2),1)", "TypeError"),
        ("torch.dist(torch.ones(2),1)", "TypeError"),
        ("torch.cov(torch.ones(2,2)>0)", "RuntimeError"),
        ("torch.corrcoef(torch.ones(2,2)>0)", "RuntimeError"),
        ("torch.trapezoid(torch.ones(3)>0)", "RuntimeError"),
        ("torch.trapz(torch.ones(3)>0)", "RuntimeError"),
        ("torch.cumulative_trapezoid(torch.ones(3)>0)", "RuntimeError"),
        ("torch.trapezoid(torch.ones(3),torch.ones(3)>0)", "RuntimeError"),
        ("torch.neg(torch.ones(3)>0)", "RuntimeError"),
        ("torch.positive(torch.ones(3)>0)", "RuntimeError"),
        ("(torch.ones(2)>0)-True", "RuntimeError"),
        ("True-(torch.ones(2)>0)", "RuntimeError"),
        ("torch.mean(torch.ones(3)>0)", "RuntimeError"),
        ("torch.var(torch.ones(3)>0)", "RuntimeError"),
        ("torch.std(torch.tensor([1,2]))", "RuntimeError"),
        ("torch.topk(torch.ones(3)>0,1)", "RuntimeError"),
        ("torch.softmax(torch.ones(3)>0,0)", "NotImplementedError"),
        ("torch.histc(torch.ones(3)>0)", "NotImplementedError"),
        ("torch.bincount(torch.ones(3)>0)", "NotImplementedError"),
        ("torch.gradient(torch.ones(3)>0)", "RuntimeError"),
        ("torch.quantile(torch.ones(3)>0,.5)", "RuntimeError"),
        ("torch.trace(torch.ones(3,3)>0)", "NotImplementedError"),
        ("torch.eye(2)@(torch.ones(2,2)>0)", "RuntimeError"),
        ("torch.cdist(torch.ones(2,2).long(),torch.ones(2,2).long())", "RuntimeError"),
        ("torch.bucketize(torch.ones(3)>0,torch.ones(3)>0)", "NotImplementedError"),
        ("x=torch.ones(3,1).expand(3,2); x[0]=torch.ones(2)", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.add_(1)", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.copy_(torch.ones(3))", "RuntimeError"),
        (
            "x=torch.ones(1).expand(3); x.index_add_(0,torch.tensor([0]),"
            "torch.ones(1))",
            "RuntimeError",
        ),
        (
            "x=torch.ones(1).expand(3); x.index_copy_(0,torch.tensor([0]),"
            "torch.ones(1))",
            "RuntimeError",
        ),
        (
            "x=torch.ones(1).expand(3); x.scatter_(0,torch.tensor([0]),torch.ones(1))",
            "RuntimeError",
        ),
        (
            "x=torch.ones(1).expand(3); x.scatter_add_(0,torch.tensor([0]),"
            "torch.ones(1))",
            "RuntimeError",
        ),
        (
            "x=torch.ones(1).expand(3); x.masked_scatter_(torch.ones(3)>0,"
            "torch.ones(3))",
            "RuntimeError",
        ),
        (
            "x=torch.ones(1).expand(3); x.put_(torch.tensor([0]),torch.ones(1))",
            "RuntimeError",
        ),
        ("x=torch.ones(1).expand(3); x.uniform_()", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.normal_()", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.bernoulli_(0.5)", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.exponential_()", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.random_()", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.clamp_(0,1)", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.relu_()", "RuntimeError"),
        ("x=torch.ones(1).expand(3); x.cumsum_(0)", "RuntimeError"),
        ("x=torch.ones(1).expand(3); torch.add(torch.ones(3),1,out=x)", "RuntimeError"),
        ("x=torch.ones(1).expand(3); torch.arange(3,out=x)", "RuntimeError"),
        ("x=torch.ones(2); x[:1].detach_()", "RuntimeError"),
    ],
    "distributions": [
        ("torch.distributions.Normal(torch.ones(2),torch.ones(3))", "RuntimeError"),
        ("torch.distributions.Categorical()", "ValueError"),
        ("torch.distributions.Categorical(torch.ones(2),torch.ones(2))", "ValueError"),
        ("torch.distributions.Categorical(torch.tensor(1.))", "ValueError"),
        (
            "torch.distributions.kl_divergence(torch.distributions"
            ".Normal(0.,1.),torch.distributions.Bernoulli(.5))",
            "NotImplementedError",
        ),
        ("torch.distributions.Distribution().sample()", "NotImplementedError"),
        ("torch.distributions.MultivariateNormal(torch.ones(2))", "ValueError"),
        (
            "torch.distributions.Independent(torch.distributions.Normal(0.,1.),1)",
            "ValueError",
        ),
        ("torch.distributions.Dirichlet(torch.tensor(1.))", "ValueError"),
        ("torch.from_dlpack(1)", "RuntimeError"),
    ],
}
